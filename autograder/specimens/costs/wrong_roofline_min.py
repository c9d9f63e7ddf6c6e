# exercise: roofline_seconds
# WRONG: min instead of max
def roofline_seconds(flops, num_bytes, peak_flops, bandwidth):
    return min(flops / peak_flops, num_bytes / bandwidth)
