# exercise: roofline_seconds
# WRONG: memory only
# SAYS: This is the time of the bytes alone. Where the arithmetic takes longer, it decides.
def roofline_seconds(flops, num_bytes, peak_flops, bandwidth):
    return num_bytes / bandwidth
