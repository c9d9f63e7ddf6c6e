# exercise: record
# WRONG: the last token is lost
def record(stream, clock):
    arrival = clock()
    return Trace(arrival, [clock() for _ in stream][:-1])
