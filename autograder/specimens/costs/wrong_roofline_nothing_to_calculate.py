# exercise: roofline_seconds
# WRONG: no time at all where there is nothing to calculate, though bytes are moved
def roofline_seconds(flops, num_bytes, peak_flops, bandwidth):
    if not flops:
        return 0.0
    return max(flops / peak_flops, num_bytes / bandwidth)
