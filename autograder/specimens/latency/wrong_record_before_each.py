# exercise: record
# WRONG: the clock is read before each token
def record(stream, clock):
    arrival = clock()
    times, before = [], arrival
    for _ in stream:
        times.append(before)
        before = clock()
    return Trace(arrival, times)
