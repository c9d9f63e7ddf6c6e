# exercise: roofline_seconds
# WRONG: min instead of max
# SAYS: This is the shorter of the two times. The work is done when both are.
def roofline_seconds(flops, num_bytes, peak_flops, bandwidth):
    return min(flops / peak_flops, num_bytes / bandwidth)
