# exercise: record
# WRONG: the arrival is read after the first token
def record(stream, clock):
    times = [clock() for _ in stream]
    return Trace(times[0], times)
