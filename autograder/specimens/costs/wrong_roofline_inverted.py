# exercise: roofline_seconds
# WRONG: rates over work
def roofline_seconds(flops, num_bytes, peak_flops, bandwidth):
    return max(peak_flops / flops, bandwidth / num_bytes)
