# exercise: roofline_seconds
# WRONG: balance by whole division: wrong just around it
def roofline_seconds(flops, num_bytes, peak_flops, bandwidth):
    return flops / peak_flops if flops // num_bytes > peak_flops // bandwidth else num_bytes / bandwidth
