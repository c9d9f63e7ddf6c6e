# exercise: arithmetic_intensity
# RIGHT: numpy
def arithmetic_intensity(flops, num_bytes):
    return __import__('numpy').true_divide(flops, num_bytes).item()
