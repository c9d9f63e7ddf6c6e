# exercise: roofline_seconds
# WRONG: the attainable rate instead of the time
def roofline_seconds(flops, num_bytes, peak_flops, bandwidth):
    return min(peak_flops, flops / num_bytes * bandwidth)
