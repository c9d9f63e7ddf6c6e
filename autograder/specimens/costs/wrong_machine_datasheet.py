# exercise: measure_machine
# WRONG: an H100's datasheet
# SAYS: These are the figures of an H100's datasheet. Measure this machine.
def measure_machine(size=1024, num_bytes=2**28, rounds=5):
    return Machine(peak_flops=989e12, bandwidth=3.35e12)
