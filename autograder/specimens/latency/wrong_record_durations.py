# exercise: record
# WRONG: stores durations instead of times
def record(stream, clock):
    arrival = before = clock()
    times = []
    for _ in stream:
        now = clock()
        times.append(now - before)
        before = now
    return Trace(arrival, times)
