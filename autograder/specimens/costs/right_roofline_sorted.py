# exercise: roofline_seconds
# RIGHT: the last of two, sorted
def roofline_seconds(flops, num_bytes, peak_flops, bandwidth):
    return sorted([num_bytes / bandwidth, flops / peak_flops])[-1]
