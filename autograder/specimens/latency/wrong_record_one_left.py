# exercise: record
# WRONG: stream not used up: reads at most 100 tokens
def record(stream, clock):
    from itertools import islice
    arrival = clock()
    return Trace(arrival, [clock() for _ in islice(stream, 100)])
