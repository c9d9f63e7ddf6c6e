# exercise: record
# WRONG: no more than a thousand tokens are recorded
def record(stream, clock):
    arrival, times = clock(), []
    for _ in stream:
        if len(times) < 1000:
            times.append(clock())
    return Trace(arrival, times)
