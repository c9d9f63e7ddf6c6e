# exercise: roofline_seconds
# WRONG: balance by whole division: wrong just around it
# SAYS: The machine's balance is rounded down, so work just above it is put on the wrong side.
def roofline_seconds(flops, num_bytes, peak_flops, bandwidth):
    return flops / peak_flops if flops // num_bytes > peak_flops // bandwidth else num_bytes / bandwidth
