# exercise: roofline_seconds
# WRONG: arithmetic only
# SAYS: This is the time of the arithmetic alone. Where the bytes take longer, they decide.
def roofline_seconds(flops, num_bytes, peak_flops, bandwidth):
    return flops / peak_flops
