# exercise: arithmetic_intensity
# WRONG: arguments cut to integers
# SAYS: The arguments are cut to whole numbers first: 0.75 becomes 0.
def arithmetic_intensity(flops, num_bytes):
    return int(flops) / int(num_bytes)
