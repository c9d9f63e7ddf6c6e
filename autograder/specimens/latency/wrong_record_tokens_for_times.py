# exercise: record
# WRONG: stores the tokens instead of their times
def record(stream, clock):
    return Trace(clock(), [float(token) for token in stream])
