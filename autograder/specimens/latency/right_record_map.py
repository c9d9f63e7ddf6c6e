# exercise: record
# RIGHT: map over the stream
def record(stream, clock):
    return Trace(clock(), list(map(lambda token: clock(), stream)))
