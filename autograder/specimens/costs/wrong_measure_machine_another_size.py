# exercise: measure_machine
# WRONG: measures products of 1000 x 1000 where no size is said
reference_measure_machine = measure_machine

def measure_machine(size=1000, num_bytes=2**28, rounds=5):
    return reference_measure_machine(size, num_bytes, rounds)
