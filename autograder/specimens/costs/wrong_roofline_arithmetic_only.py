# exercise: roofline_seconds
# WRONG: arithmetic only
def roofline_seconds(flops, num_bytes, peak_flops, bandwidth):
    return flops / peak_flops
