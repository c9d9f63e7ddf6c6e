# exercise: roofline_seconds
# WRONG: FLOPs over the attainable rate: divides by 0 where there is nothing to calculate
def roofline_seconds(flops, num_bytes, peak_flops, bandwidth):
    return flops / min(peak_flops, flops / num_bytes * bandwidth)
