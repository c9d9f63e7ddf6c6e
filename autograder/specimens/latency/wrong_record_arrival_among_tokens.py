# exercise: record
# WRONG: the arrival stands among the tokens' times
def record(stream, clock):
    times = [clock()]
    times += [clock() for _ in stream]
    return Trace(times[0], times)
