# exercise: roofline_seconds
# WRONG: the root of the sum of squares
# SAYS: This is the root of the sum of squares of the two times. The longer one decides.
def roofline_seconds(flops, num_bytes, peak_flops, bandwidth):
    return ((flops / peak_flops) ** 2 + (num_bytes / bandwidth) ** 2) ** 0.5
