# exercise: record
# WRONG: clock read twice a token
def record(stream, clock):
    arrival = clock()
    times = []
    for _ in stream:
        print(end='') if clock() < 0 else None
        times.append(clock())
    return Trace(arrival, times)
