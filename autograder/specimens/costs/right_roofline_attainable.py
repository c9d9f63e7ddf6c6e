# exercise: roofline_seconds
# RIGHT: by the attainable rate: min of peak and intensity x bandwidth
def roofline_seconds(flops, num_bytes, peak_flops, bandwidth):
    return flops / min(peak_flops, flops / num_bytes * bandwidth)
