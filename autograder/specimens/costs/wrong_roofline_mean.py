# exercise: roofline_seconds
# WRONG: the mean
# SAYS: This is the mean of the two times. The longer one decides.
def roofline_seconds(flops, num_bytes, peak_flops, bandwidth):
    return (flops / peak_flops + num_bytes / bandwidth) / 2
