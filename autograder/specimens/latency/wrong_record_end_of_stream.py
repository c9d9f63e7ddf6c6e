# exercise: record
# WRONG: one more time for the end of the stream
def record(stream, clock):
    arrival = clock()
    times = [clock() for _ in stream]
    return Trace(arrival, [*times, clock()])
