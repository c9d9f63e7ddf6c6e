# exercise: roofline_seconds
# WRONG: the sum of both
# SAYS: This is the sum of the two times. They pass side by side: the longer one decides.
def roofline_seconds(flops, num_bytes, peak_flops, bandwidth):
    return flops / peak_flops + num_bytes / bandwidth
