# exercise: record
# WRONG: asks for the next token until there is none, which a list does not answer
def record(stream, clock):
    arrival, times = clock(), []
    while next(stream, None) is not None:
        times.append(clock())
    return Trace(arrival, times)
