# exercise: roofline_seconds
# WRONG: near the balance the two times are added
def roofline_seconds(flops, num_bytes, peak_flops, bandwidth):
    arithmetic, memory = flops / peak_flops, num_bytes / bandwidth
    if abs(arithmetic - memory) < 1e-3 * memory:
        return arithmetic + memory
    return max(arithmetic, memory)
