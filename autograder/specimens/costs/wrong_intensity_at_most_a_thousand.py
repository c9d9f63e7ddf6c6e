# exercise: arithmetic_intensity
# WRONG: never more than 1,000
def arithmetic_intensity(flops, num_bytes):
    return min(flops / num_bytes, 1000.0)
