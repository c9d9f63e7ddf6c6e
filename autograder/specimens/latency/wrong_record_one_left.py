# exercise: record
# WRONG: stream not used up: reads at most 100 tokens
# SAYS: The stream is read for 100 tokens at the most. Read it to its end.
def record(stream, clock):
    from itertools import islice
    arrival = clock()
    return Trace(arrival, [clock() for _ in islice(stream, 100)])
