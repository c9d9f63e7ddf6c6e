# exercise: roofline_seconds
# WRONG: the comparison with the balance the wrong way round
def roofline_seconds(flops, num_bytes, peak_flops, bandwidth):
    if flops / num_bytes < peak_flops / bandwidth:
        return flops / peak_flops
    return num_bytes / bandwidth
