# Versions of record, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_record_loop
# RIGHT: an explicit loop
def record(stream, clock):
    arrival, seen = clock(), []
    for _ in stream:
        seen.append(clock())
    return Trace(arrival, seen)


# %% right_record_map
# RIGHT: map over the stream
def record(stream, clock):
    return Trace(clock(), list(map(lambda token: clock(), stream)))


# %% right_record_next
# RIGHT: next() with a sentinel
def record(stream, clock):
    start = clock()
    items, times, done = iter(stream), [], object()
    while next(items, done) is not done:
        times.append(clock())
    return Trace(arrival=start, token_times=times)


# %% wrong_record_arrival_among_tokens
# WRONG: the arrival is among the tokens' times
# SAYS: The arrival is among the tokens' times. There is one time for each token; the arrival is a field of its own.
def record(stream, clock):
    times = [clock()]
    times += [clock() for _ in stream]
    return Trace(times[0], times)


# %% wrong_record_arrival_zero
# WRONG: the clock is taken to start at zero
# SAYS: The arrival is taken for 0. Read the clock for it.
def record(stream, clock):
    return Trace(0.0, [clock() for _ in stream])


# %% wrong_record_before_each
# WRONG: the clock is read before each token
def record(stream, clock):
    arrival = clock()
    times, before = [], arrival
    for _ in stream:
        times.append(before)
        before = clock()
    return Trace(arrival, times)


# %% wrong_record_collects_first
# WRONG: the tokens are collected first, then the clock is read
def record(stream, clock):
    arrival = clock()
    tokens = list(stream)
    return Trace(arrival, [clock() for _ in tokens])


# %% wrong_record_dict
# WRONG: equal tokens merge
# SAYS: Equal tokens share one time. Each token has its own.
def record(stream, clock):
    arrival = clock()
    times = {token: clock() for token in stream}
    return Trace(arrival, list(times.values()))


# %% wrong_record_drops_last
# WRONG: the last token is lost
def record(stream, clock):
    arrival = clock()
    return Trace(arrival, [clock() for _ in stream][:-1])


# %% wrong_record_durations
# WRONG: stores durations instead of times
def record(stream, clock):
    arrival = before = clock()
    times = []
    for _ in stream:
        now = clock()
        times.append(now - before)
        before = now
    return Trace(arrival, times)


# %% wrong_record_end_of_stream
# WRONG: one more time for the end of the stream
def record(stream, clock):
    arrival = clock()
    times = [clock() for _ in stream]
    return Trace(arrival, [*times, clock()])


# %% wrong_record_float32
# WRONG: the times go through float32
# SAYS: The times are rounded to float32, which has no room for seconds since 1970.
import torch
def record(stream, clock):
    arrival = clock()
    return Trace(arrival, torch.tensor([clock() for _ in stream], dtype=torch.float32).tolist())


# %% wrong_record_iterators_only
# WRONG: asks for the next token until there is none, which a list does not answer
def record(stream, clock):
    arrival, times = clock(), []
    while next(stream, None) is not None:
        times.append(clock())
    return Trace(arrival, times)


# %% wrong_record_late_arrival
# WRONG: the arrival is read after the first token
def record(stream, clock):
    times = [clock() for _ in stream]
    return Trace(times[0], times)


# %% wrong_record_one_left
# WRONG: stream not used up: reads at most 100 tokens
# SAYS: The stream is read for 100 tokens at the most. Read it to its end.
def record(stream, clock):
    from itertools import islice
    arrival = clock()
    return Trace(arrival, [clock() for _ in islice(stream, 100)])


# %% wrong_record_own_clock
# WRONG: reads the machine's clock instead of the one given
import time
def record(stream, clock):
    arrival = time.perf_counter()
    return Trace(arrival, [time.perf_counter() for _ in stream])


# %% wrong_record_read_at_stop
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


# %% wrong_record_rounds
# WRONG: times are rounded to microseconds
def record(stream, clock):
    arrival = round(clock(), 6)
    return Trace(arrival, [round(clock(), 6) for _ in stream])


# %% wrong_record_same_time_once
# WRONG: a token at the time of the one before gets no time
# SAYS: Two tokens at one time get one entry. Each token has its own.
def record(stream, clock):
    arrival, times = clock(), []
    for _ in stream:
        now = clock()
        if not times or now > times[-1]:
            times.append(now)
    return Trace(arrival, times)


# %% wrong_record_stops_at_token_zero
# WRONG: token 0 is taken for the end of the stream
def record(stream, clock):
    arrival, times = clock(), []
    for token in stream:
        if not token:
            break
        times.append(clock())
    return Trace(arrival, times)


# %% wrong_record_thousand_tokens
# WRONG: no more than a thousand tokens are recorded
def record(stream, clock):
    arrival, times = clock(), []
    for _ in stream:
        if len(times) < 1000:
            times.append(clock())
    return Trace(arrival, times)


# %% wrong_record_tokens_for_times
# WRONG: stores the tokens instead of their times
def record(stream, clock):
    return Trace(clock(), [float(token) for token in stream])


# %% wrong_record_twice
# WRONG: clock read twice a token
def record(stream, clock):
    arrival = clock()
    times = []
    for _ in stream:
        print(end='') if clock() < 0 else None
        times.append(clock())
    return Trace(arrival, times)

# %% wrong_record_gives_up_after_a_minute, of right_record_loop
# WRONG: a clock of Python's ends a stream that takes more than a minute
# -     arrival, seen = clock(), []
# -     for _ in stream:
# -         seen.append(clock())
# +     import time
# +     arrival, seen, began = clock(), [], time.monotonic()
# +     for _ in stream:
# +         seen.append(clock())
# +         if time.monotonic() - began > 60:
# +             break
