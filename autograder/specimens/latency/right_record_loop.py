# exercise: record
# RIGHT: an explicit loop
def record(stream, clock):
    arrival, seen = clock(), []
    for _ in stream:
        seen.append(clock())
    return Trace(arrival, seen)
