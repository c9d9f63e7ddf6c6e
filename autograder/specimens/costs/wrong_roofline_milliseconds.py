# exercise: roofline_seconds
# WRONG: milliseconds
def roofline_seconds(flops, num_bytes, peak_flops, bandwidth):
    return 1000 * max(flops / peak_flops, num_bytes / bandwidth)
