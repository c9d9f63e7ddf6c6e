# exercise: arithmetic_intensity
# WRONG: never below one
def arithmetic_intensity(flops, num_bytes):
    return max(1.0, flops / num_bytes)
