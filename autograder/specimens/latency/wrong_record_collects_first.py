# exercise: record
# WRONG: the tokens are collected first, then the clock is read
def record(stream, clock):
    arrival = clock()
    tokens = list(stream)
    return Trace(arrival, [clock() for _ in tokens])
