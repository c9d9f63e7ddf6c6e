# exercise: arithmetic_intensity
# WRONG: arguments cut to integers
def arithmetic_intensity(flops, num_bytes):
    return int(flops) / int(num_bytes)
