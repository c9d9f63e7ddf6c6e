# exercise: roofline_seconds
# RIGHT: by the balance of the machine
def roofline_seconds(flops, num_bytes, peak_flops, bandwidth):
    if flops / num_bytes > peak_flops / bandwidth:
        return flops / peak_flops
    return num_bytes / bandwidth
