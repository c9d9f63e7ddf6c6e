# exercise: record
# WRONG: the arrival stands among the tokens' times
# SAYS: The arrival stands among the tokens' times. One time a token; the arrival is kept apart.
def record(stream, clock):
    times = [clock()]
    times += [clock() for _ in stream]
    return Trace(times[0], times)
