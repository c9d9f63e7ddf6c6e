# Versions of run_load, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_load_plain
# RIGHT: a task a request; most of the wrong versions are edits of it
async def run_load(send, arrivals, clock, sleep):
    begun = clock()

    async def request(i):
        planned = begun + arrivals[i]
        wait = planned - clock()
        if wait > 0:
            await sleep(wait)
        times = []
        try:
            async for token in send(i):
                times.append(clock())
        except RequestError:
            return None
        return Trace(planned, times)

    tasks = [asyncio.create_task(request(i)) for i in range(len(arrivals))]
    traces = []
    for task in tasks:
        traces.append(await task)
    return traces


# %% right_load_dispatcher
# RIGHT: the tasks are begun in a loop, and each sleeps for itself
async def run_load(send, arrivals, clock, sleep):
    start, jobs = clock(), []

    async def read(i, at):
        try:
            return Trace(at, [clock() async for _ in send(i)])
        except RequestError:
            return None

    async def begin(i, at):
        await sleep(max(at - clock(), 0))
        return await read(i, at)

    for i, offset in enumerate(arrivals):
        jobs.append(asyncio.ensure_future(begin(i, start + offset)))
    return [await job for job in jobs]


# %% right_load_one_dispatcher
# RIGHT: one task sleeps from arrival to arrival, where there is anything left to sleep, and starts a task for each
async def run_load(send, arrivals, clock, sleep):
    begun = clock()

    async def read(i, planned):
        times = []
        try:
            async for _ in send(i):
                times.append(clock())
        except RequestError:
            return None
        return Trace(planned, times)

    jobs = []
    for i, arrival in enumerate(arrivals):
        planned = begun + arrival
        wait = planned - clock()
        if wait > 0:
            await sleep(wait)
        jobs.append(asyncio.create_task(read(i, planned)))
    return list(await asyncio.gather(*jobs))


# %% right_load_dispatcher_always_sleeps
# RIGHT: one task sleeps before every request, for no time where it is late already
async def run_load(send, arrivals, clock, sleep):
    zero, jobs = clock(), []

    async def read(i):
        try:
            return Trace(zero + arrivals[i], [clock() async for _ in send(i)])
        except RequestError:
            return None

    async def dispatch():
        for i, arrival in enumerate(arrivals):
            await sleep(max(0.0, zero + arrival - clock()))
            jobs.append(asyncio.ensure_future(read(i)))

    await asyncio.ensure_future(dispatch())
    return [await job for job in jobs]


# %% right_load_group
# RIGHT: a task group fills a list
async def run_load(send, arrivals, clock, sleep):
    zero = clock()
    results = [None] * len(arrivals)

    async def one(i):
        due = zero + arrivals[i]
        await sleep(max(0.0, due - clock()))
        stamps = []
        try:
            async for _ in send(i):
                stamps.append(clock())
        except RequestError as refusal:
            return
        results[i] = Trace(arrival=due, token_times=stamps)

    await asyncio.gather(*map(one, range(len(arrivals))))
    return results


# %% wrong_load_closed
# WRONG: the next request is sent when the one before has been answered
async def run_load(send, arrivals, clock, sleep):
    begun = clock()
    traces = []
    for i, arrival in enumerate(arrivals):
        planned = begun + arrival
        await sleep(max(0.0, planned - clock()))
        try:
            traces.append(Trace(planned, [clock() async for _ in send(i)]))
        except RequestError:
            traces.append(None)
    return traces


# %% wrong_load_actual_arrival, of right_load_plain
# WRONG: the arrival is when it was sent: its lateness is not counted
# -         times = []
# +         planned = clock()
# +         times = []


# %% wrong_load_relative_arrival, of right_load_plain
# WRONG: the arrival is on the plan's clock
# -         return Trace(planned, times)
# +         return Trace(arrivals[i], times)


# %% wrong_load_relative_times, of right_load_plain
# WRONG: the times count from the start
# -                 times.append(clock())
# +                 times.append(clock() - begun)


# %% wrong_load_clock_from_zero, of right_load_plain
# WRONG: the clock is taken to begin at 0
# -     begun = clock()
# +     begun = 0.0


# %% wrong_load_all_at_once, of right_load_plain
# WRONG: all are sent at once
# -         if wait > 0:
# -             await sleep(wait)


# %% wrong_load_gaps, of right_load_plain
# WRONG: each waits for the gap before it only
# -         wait = planned - clock()
# +         wait = arrivals[i] - (arrivals[i - 1] if i else 0.0)


# %% wrong_load_sleeps_arrival_late, of right_load_plain
# WRONG: each is late by what has passed already
# -         wait = planned - clock()
# +         wait = planned


# %% wrong_load_refused_left_out, of right_load_plain
# WRONG: refused requests are left out
# -         traces.append(await task)
# +         if (trace := await task) is not None:
# +             traces.append(trace)


# %% wrong_load_refused_empty, of right_load_plain
# WRONG: a refused request is a trace without tokens
# -             return None
# +             return Trace(planned, [])


# %% wrong_load_refused_partial, of right_load_plain
# WRONG: a request that is refused after some tokens is a trace
# -             return None
# +             return Trace(planned, times) if times else None


# %% wrong_load_refusal_raised, of right_load_plain
# WRONG: a refusal ends the load
# -         except RequestError:
# +         except ZeroDivisionError:


# %% wrong_load_any_error_refused, of right_load_plain
# WRONG: any exception is taken for a refusal
# -         except RequestError:
# +         except Exception:


# %% wrong_load_in_order_of_end, of right_load_plain
# WRONG: in the order in which they ended
#       tasks = [asyncio.create_task(request(i)) for i in range(len(arrivals))]
#       traces = []
# -     for task in tasks:
# +     for task in asyncio.as_completed(tasks):
#           traces.append(await task)
#       return traces


# %% wrong_load_first_token_only, of right_load_plain
# WRONG: only the first token is read
# -                 times.append(clock())
# +                 times.append(clock())
# +                 break


# %% wrong_load_times_before, of right_load_plain
# WRONG: the clock is read before each token
# -             async for token in send(i):
# -                 times.append(clock())
# +             before = clock()
# +             async for token in send(i):
# +                 times.append(before)
# +                 before = clock()


# %% wrong_load_collected, of right_load_plain
# WRONG: the tokens are collected first
# -             async for token in send(i):
# -                 times.append(clock())
# +             tokens = [token async for token in send(i)]
# +             times = [clock() for _ in tokens]


# %% wrong_load_one_end_too_many, of right_load_plain
# WRONG: the end is taken for a token
# -         return Trace(planned, times)
# +         return Trace(planned, [*times, clock()])


# %% wrong_load_last_missing, of right_load_plain
# WRONG: the last request is not sent
# -     tasks = [asyncio.create_task(request(i)) for i in range(len(arrivals))]
# +     tasks = [asyncio.create_task(request(i)) for i in range(len(arrivals) - 1)]


# %% wrong_load_first_again, of right_load_plain
# WRONG: every request is the first
# -             async for token in send(i):
# +             async for token in send(0):


# %% wrong_load_three_at_a_time, of right_load_plain
# WRONG: at most three are under way
# -     begun = clock()
# +     begun, places = clock(), asyncio.Semaphore(3)
# ...
#           times = []
#           try:
# -             async for token in send(i):
# -                 times.append(clock())
# +             async with places:
# +                 async for token in send(i):
# +                     times.append(clock())
#           except RequestError:
#               return None


# %% wrong_load_pool, of right_load_plain
# WRONG: at most 64 connections are open at a time, and later requests wait for one
# SAYS: only a fixed number of requests may be under way at a time; later ones wait for one of them, as in a closed loop
# -     begun = clock()
# +     begun, pool = clock(), asyncio.Semaphore(64)
# ...
#           times = []
#           try:
# -             async for token in send(i):
# -                 times.append(clock())
# +             async with pool:
# +                 async for token in send(i):
# +                     times.append(clock())
#           except RequestError:
#               return None


# %% wrong_load_pool_of_1000
# WRONG: a thousand readers take one request after another: a request that comes when all of them read waits
# SAYS: only a fixed number of requests may be under way at a time; later ones wait for one of them, as in a closed loop
async def run_load(send, arrivals, clock, sleep):
    begun, traces, queue = clock(), [None] * len(arrivals), asyncio.Queue()

    async def read():
        while True:
            i = await queue.get()
            try:
                traces[i] = Trace(begun + arrivals[i], [clock() async for _ in send(i)])
            except RequestError:
                pass
            queue.task_done()

    readers = [asyncio.create_task(read()) for _ in range(1000)]
    for i, arrival in enumerate(arrivals):
        await sleep(max(0.0, begun + arrival - clock()))
        queue.put_nowait(i)
    done = asyncio.create_task(queue.join())
    await asyncio.wait([done, *readers], return_when=asyncio.FIRST_COMPLETED)
    failed = [reader for reader in readers if reader.done()]
    for task in (done, *readers):
        task.cancel()
    await asyncio.gather(done, *readers, return_exceptions=True)
    for reader in failed:
        reader.result()
    return traces


# %% wrong_load_asyncio_sleep, of right_load_plain
# WRONG: sleeps by asyncio and not by the sleep that is given
# -             await sleep(wait)
# +             await asyncio.sleep(wait)


# %% wrong_load_loop_clock, of right_load_plain
# WRONG: reads the loop's clock from 0
# -                 times.append(clock())
# +                 times.append(clock() - arrivals[i])


# %% wrong_load_exceptions_in_place, of right_load_plain
# WRONG: an exception takes its request's place
# -         traces.append(await task)
# +         traces.append((await asyncio.gather(task, return_exceptions=True))[0])


# %% wrong_load_tuple_traces, of right_load_plain
# WRONG: pairs in place of traces
# -         return Trace(planned, times)
# +         return planned, times


# %% wrong_load_dict_result, of right_load_plain
# WRONG: a dict by number
# -     return traces
# +     return dict(enumerate(traces))


# %% wrong_load_loop_time, of right_load_plain
# WRONG: the tokens' times are the event loop's and not the given clock's
# -                 times.append(clock())
# +                 times.append(asyncio.get_running_loop().time())


# %% wrong_load_only_429_is_refused, of right_load_plain
# WRONG: only a RequestError with status 429 counts as a refusal
# -         except RequestError:
# +         except RequestError as error:
# +             if error.status != 429:
# +                 raise


# %% wrong_load_late_not_sent, of right_load_plain
# WRONG: a request whose planned time has passed is not sent and counts as refused
# -         if wait > 0:
# -             await sleep(wait)
# +         if wait < 0:
# +             return None
# +         await sleep(wait)


# %% wrong_load_later_than_a_second_not_sent, of right_load_plain
# WRONG: a request that is more than a second late is not sent and counts as refused
#           times = []
# +         if clock() - planned > 1:
# +             return None
