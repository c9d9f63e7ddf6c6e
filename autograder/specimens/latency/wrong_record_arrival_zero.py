# exercise: record
# WRONG: the clock is taken to start at zero
def record(stream, clock):
    return Trace(0.0, [clock() for _ in stream])
