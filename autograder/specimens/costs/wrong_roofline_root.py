# exercise: roofline_seconds
# WRONG: the root of the sum of squares
def roofline_seconds(flops, num_bytes, peak_flops, bandwidth):
    return ((flops / peak_flops) ** 2 + (num_bytes / bandwidth) ** 2) ** 0.5
