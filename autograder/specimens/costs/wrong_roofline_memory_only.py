# exercise: roofline_seconds
# WRONG: memory only
def roofline_seconds(flops, num_bytes, peak_flops, bandwidth):
    return num_bytes / bandwidth
