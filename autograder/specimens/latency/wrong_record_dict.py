# exercise: record
# WRONG: equal tokens merge
def record(stream, clock):
    arrival = clock()
    times = {token: clock() for token in stream}
    return Trace(arrival, list(times.values()))
