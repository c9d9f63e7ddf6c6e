# exercise: record
# WRONG: clock read once more when the stream has ended
def record(stream, clock):
    arrival = clock()
    it, done, times = iter(stream), object(), []
    while True:
        token = next(it, done)
        now = clock()
        if token is done:
            return Trace(arrival, times)
        times.append(now)
