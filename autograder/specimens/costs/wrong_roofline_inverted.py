# exercise: roofline_seconds
# WRONG: rates over work
# SAYS: A rate is divided by the work. Time is work over rate.
def roofline_seconds(flops, num_bytes, peak_flops, bandwidth):
    return max(peak_flops / flops, bandwidth / num_bytes)
