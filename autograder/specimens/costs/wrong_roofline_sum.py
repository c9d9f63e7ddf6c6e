# exercise: roofline_seconds
# WRONG: the sum of both
def roofline_seconds(flops, num_bytes, peak_flops, bandwidth):
    return flops / peak_flops + num_bytes / bandwidth
