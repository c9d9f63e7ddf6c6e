# exercise: record
# WRONG: equal tokens merge
# SAYS: Equal tokens that follow each other get one time. Each token has its own.
def record(stream, clock):
    arrival = clock()
    times = {token: clock() for token in stream}
    return Trace(arrival, list(times.values()))
