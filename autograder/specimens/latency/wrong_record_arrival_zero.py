# exercise: record
# WRONG: the clock is taken to start at zero
# SAYS: The arrival is taken for 0. Read the clock for it.
def record(stream, clock):
    return Trace(0.0, [clock() for _ in stream])
