# exercise: record
# WRONG: times are rounded to microseconds
def record(stream, clock):
    arrival = round(clock(), 6)
    return Trace(arrival, [round(clock(), 6) for _ in stream])
