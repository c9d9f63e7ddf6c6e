# exercise: roofline_seconds
# WRONG: peak and bandwidth exchanged
# SAYS: peak_flops and bandwidth are exchanged.
def roofline_seconds(flops, num_bytes, peak_flops, bandwidth):
    return max(flops / bandwidth, num_bytes / peak_flops)
