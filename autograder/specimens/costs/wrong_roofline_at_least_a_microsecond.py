# exercise: roofline_seconds
# WRONG: no work takes less than a microsecond
def roofline_seconds(flops, num_bytes, peak_flops, bandwidth):
    return max(flops / peak_flops, num_bytes / bandwidth, 1e-6)
