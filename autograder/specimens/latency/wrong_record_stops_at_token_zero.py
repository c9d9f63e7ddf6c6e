# exercise: record
# WRONG: token 0 is taken for the end of the stream
def record(stream, clock):
    arrival, times = clock(), []
    for token in stream:
        if not token:
            break
        times.append(clock())
    return Trace(arrival, times)
