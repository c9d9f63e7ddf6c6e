# exercise: record
# RIGHT: next() with a sentinel
def record(stream, clock):
    start = clock()
    items, times, done = iter(stream), [], object()
    while next(items, done) is not done:
        times.append(clock())
    return Trace(arrival=start, token_times=times)
