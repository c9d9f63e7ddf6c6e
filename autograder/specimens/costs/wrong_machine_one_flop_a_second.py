# exercise: measure_machine
# WRONG: constants
# SAYS: These are constants. Measure this machine.
def measure_machine(size=1024, num_bytes=2**28, rounds=5):
    return Machine(1.0, 1.0)
