# exercise: roofline_seconds
# WRONG: milliseconds
# SAYS: This is in milliseconds. The function gives seconds.
def roofline_seconds(flops, num_bytes, peak_flops, bandwidth):
    return 1000 * max(flops / peak_flops, num_bytes / bandwidth)
