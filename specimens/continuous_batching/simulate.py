# Versions of simulate, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_simulate_plain
# RIGHT: step by step; most of the wrong versions are edits of it

def simulate(requests, scheduler, seconds, token=lambda request: 0):
    clock = 0.0
    times = [[] for _ in requests]
    arriving = sorted(requests, key=lambda request: request.arrival)
    while arriving or scheduler.waiting or scheduler.running:
        if not scheduler.waiting and not scheduler.running:
            clock = max(clock, arriving[0].arrival)
        while arriving and arriving[0].arrival <= clock:
            scheduler.add(arriving.pop(0))
        plan = scheduler.schedule()
        clock += seconds([(n, request.sequence.length) for request, n in plan.chunks])
        before = [len(request.output) for request in requests]
        update(scheduler, plan, [token(request) for request, _ in plan.chunks])
        for i, request in enumerate(requests):
            if len(request.output) > before[i]:
                times[i].append(clock)
    return [Trace(request.arrival, times[i]) for i, request in enumerate(requests)]


# %% right_simulate_says_what_counts
# RIGHT: the model is asked for those alone whose text is complete

def simulate(requests, scheduler, seconds, token=lambda request: 0):
    now = 0.0
    times = {id(request): [] for request in requests}
    coming = [request for arrival in sorted({r.arrival for r in requests}) for request in requests if request.arrival == arrival]
    done = 0
    while done < len(coming) or scheduler.waiting or scheduler.running:
        while done < len(coming) and coming[done].arrival <= now:
            scheduler.add(coming[done])
            done += 1
        if not scheduler.waiting and not scheduler.running:
            now = coming[done].arrival
            continue
        plan = scheduler.schedule()
        now = now + seconds([(n, request.sequence.length) for request, n in plan.chunks])
        complete = [request for request, _ in plan.chunks if request.remaining == 0]
        said = [token(request) if request in complete else 0 for request, _ in plan.chunks]
        update(scheduler, plan, said)
        for request in complete:
            times[id(request)].append(now)
    return [Trace(arrival=request.arrival, token_times=times[id(request)]) for request in requests]


# %% right_simulate_steps_are_noted
# RIGHT: the ends of all steps are noted, and who has got a token in which; the traces are made at the end

def simulate(requests, scheduler, seconds, token=lambda request: 0):
    order = sorted(range(len(requests)), key=lambda i: requests[i].arrival)
    ends, got, clock = [], [], 0.0
    while order or scheduler.waiting or scheduler.running:
        idle = len(scheduler.waiting) + len(scheduler.running) == 0
        if idle and requests[order[0]].arrival > clock:
            clock = requests[order[0]].arrival
        while order and requests[order[0]].arrival <= clock:
            scheduler.add(requests[order.pop(0)])
        plan = scheduler.schedule()
        took = seconds([(n, request.sequence.length) for request, n in plan.chunks])
        complete = {request for request, _ in plan.chunks if not request.remaining}
        update(scheduler, plan, [token(request) for request, _ in plan.chunks])
        clock += took
        ends.append(clock)
        got.append(complete)
    return [Trace(r.arrival, [end for end, complete in zip(ends, got) if r in complete]) for r in requests]


# %% right_simulate_heap
# RIGHT: a heap of arrivals and places in the list

import heapq


def simulate(requests, scheduler, seconds, token=lambda request: 0):
    heap = [(request.arrival, place) for place, request in enumerate(requests)]
    heapq.heapify(heap)
    place_of = {id(request): place for place, request in enumerate(requests)}
    times, now = [[] for _ in requests], 0.0
    while heap or scheduler.running or scheduler.waiting:
        if not scheduler.running and not scheduler.waiting:
            now = max(now, heap[0][0])
        while heap and heap[0][0] <= now:
            scheduler.add(requests[heapq.heappop(heap)[1]])
        plan = scheduler.schedule()
        now += seconds([(n, request.sequence.length) for request, n in plan.chunks])
        reached = [place_of[id(request)] for request, _ in plan.chunks if not request.remaining]
        update(scheduler, plan, [token(request) for request, _ in plan.chunks])
        for place in reached:
            times[place].append(now)
    return [Trace(request.arrival, each) for request, each in zip(requests, times)]


# %% wrong_simulate_all_at_once, of right_simulate_plain
# WRONG: all requests are there from the beginning
# -         while arriving and arriving[0].arrival <= clock:
# +         while arriving:

# %% wrong_simulate_token_for_every_chunk, of right_simulate_plain
# WRONG: a time is noted for every chunk, that of a half prompt too
# -         for i, request in enumerate(requests):
# -             if len(request.output) > before[i]:
# -                 times[i].append(clock)
# +         fed = [request for request, _ in plan.chunks]
# +         for i, request in enumerate(requests):
# +             if request in fed:
# +                 times[i].append(clock)

# %% wrong_simulate_times_of_the_beginning, of right_simulate_plain
# WRONG: a token's time is the beginning of its step
# -         clock += seconds([(n, request.sequence.length) for request, n in plan.chunks])
# -         before = [len(request.output) for request in requests]
# +         took = seconds([(n, request.sequence.length) for request, n in plan.chunks])
# +         before = [len(request.output) for request in requests]
# ...
# -                 times[i].append(clock)
# +                 times[i].append(clock)
# +         clock += took

# %% wrong_simulate_no_jump, of right_simulate_plain
# WRONG: an idle clock goes on in steps of one second
# -             clock = max(clock, arriving[0].arrival)
# +             while clock < arriving[0].arrival:
# +                 clock += 1.0

# %% wrong_simulate_arrival_is_the_step, of right_simulate_plain
# WRONG: a request is taken for arrived when its first step begins
# -             scheduler.add(arriving.pop(0))
# +             arriving[0].arrival = clock
# +             scheduler.add(arriving.pop(0))

# %% wrong_simulate_order_of_arrival, of right_simulate_plain
# WRONG: the traces are in the order of arrival
# -     return [Trace(request.arrival, times[i]) for i, request in enumerate(requests)]
# +     return sorted((Trace(request.arrival, times[i]) for i, request in enumerate(requests)), key=lambda trace: trace.arrival)

# %% wrong_simulate_sorts_the_list, of right_simulate_plain
# WRONG: the list that was given is sorted
# -     arriving = sorted(requests, key=lambda request: request.arrival)
# +     requests.sort(key=lambda request: request.arrival)
# +     arriving = list(requests)

# %% wrong_simulate_order_given, of right_simulate_plain
# WRONG: the requests are taken for sorted by arrival
# -     arriving = sorted(requests, key=lambda request: request.arrival)
# +     arriving = list(requests)

# %% wrong_simulate_only_later, of right_simulate_plain
# WRONG: a request that arrives just as a step begins waits for the next one
# -         while arriving and arriving[0].arrival <= clock:
# +         first = not scheduler.waiting and not scheduler.running
# +         while arriving and (arriving[0].arrival < clock or first):
# +             first = False

# %% wrong_simulate_cached_before, of right_simulate_plain
# WRONG: the step is priced by what was cached before it
# -         clock += seconds([(n, request.sequence.length) for request, n in plan.chunks])
# +         clock += seconds([(n, request.sequence.length - n) for request, n in plan.chunks])

# %% wrong_simulate_prompt_length, of right_simulate_plain
# WRONG: the step is priced by the whole texts, not by what is cached of them
# -         clock += seconds([(n, request.sequence.length) for request, n in plan.chunks])
# +         clock += seconds([(n, len(request.tokens)) for request, n in plan.chunks])

# %% wrong_simulate_ends_with_the_arrivals, of right_simulate_plain
# WRONG: it ends when the last request has arrived
# -     while arriving or scheduler.waiting or scheduler.running:
# +     while arriving:

# %% wrong_simulate_token_ignored, of right_simulate_plain
# WRONG: the model is never asked what it says
# -         update(scheduler, plan, [token(request) for request, _ in plan.chunks])
# +         update(scheduler, plan, [0 for request, _ in plan.chunks])

# %% wrong_simulate_times_from_arrival, of right_simulate_plain
# WRONG: the times are counted from each arrival, not on the clock
# -                 times[i].append(clock)
# +                 times[i].append(clock - request.arrival)

# %% wrong_simulate_back_in_time, of right_simulate_plain
# WRONG: an idle clock is set to the next arrival, even if that has passed
# -             clock = max(clock, arriving[0].arrival)
# +             clock = arriving[0].arrival

# %% wrong_simulate_jumps_past_the_queue, of right_simulate_plain
# WRONG: the clock jumps where nobody runs, though somebody waits
# -         if not scheduler.waiting and not scheduler.running:
# +         if arriving and not scheduler.running:

# %% wrong_simulate_shorter_first, of right_simulate_plain
# WRONG: of two with the same arrival the shorter prompt is added first
# -     arriving = sorted(requests, key=lambda request: request.arrival)
# +     arriving = sorted(requests, key=lambda request: (request.arrival, len(request.prompt)))

# %% wrong_simulate_equal_prompts_are_one, of right_simulate_plain
# WRONG: the times are kept by the text of the prompt, so that equal prompts share them
# -     times = [[] for _ in requests]
# +     times = {tuple(request.prompt): [] for request in requests}
# ...
# -                 times[i].append(clock)
# -     return [Trace(request.arrival, times[i]) for i, request in enumerate(requests)]
# +                 times[tuple(request.prompt)].append(clock)
# +     return [Trace(request.arrival, times[tuple(request.prompt)]) for request in requests]

# %% wrong_simulate_no_early_arrival, of right_simulate_plain
# WRONG: an arrival before the clock began is moved to 0
# -     return [Trace(request.arrival, times[i]) for i, request in enumerate(requests)]
# +     return [Trace(max(0.0, request.arrival), times[i]) for i, request in enumerate(requests)]

# %% wrong_simulate_begins_with_the_first, of right_simulate_plain
# WRONG: the clock begins at the first arrival, even if that is before 0
# -     arriving = sorted(requests, key=lambda request: request.arrival)
# +     arriving = sorted(requests, key=lambda request: request.arrival)
# +     clock = min([request.arrival for request in requests], default=0.0)

# %% wrong_simulate_says_one_thing, of right_simulate_plain
# WRONG: what the model said first of a request is taken for all that it says
# -     clock = 0.0
# +     clock, said = 0.0, {}
# ...
# -         update(scheduler, plan, [token(request) for request, _ in plan.chunks])
# +         for request, _ in plan.chunks:
# +             said[request] = said[request] if request in said else token(request)
# +         update(scheduler, plan, [said[request] for request, _ in plan.chunks])

# %% wrong_simulate_a_little_early, of right_simulate_plain
# WRONG: a request is added up to a millionth of a second before it arrives
# -         while arriving and arriving[0].arrival <= clock:
# +         while arriving and arriving[0].arrival <= clock + 1e-6:


# %% wrong_simulate_sorts_and_keeps_the_order, of right_simulate_plain
# WRONG: the caller's list is sorted, and the traces are in the order in which it was given
# -     times = [[] for _ in requests]
# -     arriving = sorted(requests, key=lambda request: request.arrival)
# +     given, requests = requests, list(requests)
# +     times = [[] for _ in requests]
# +     given.sort(key=lambda request: request.arrival)
# +     arriving = list(given)


# %% wrong_simulate_uses_the_list_up, of right_simulate_plain
# WRONG: the caller's list is used up
# -     times = [[] for _ in requests]
# -     arriving = sorted(requests, key=lambda request: request.arrival)
# +     arriving, requests = requests, list(requests)
# +     times = [[] for _ in requests]
# +     arriving.sort(key=lambda request: request.arrival)


# %% wrong_simulate_without_schedule, of right_simulate_plain
# WRONG: a step is put together from feed_running and admit, so that the given scheduler's own schedule is not asked
# -         plan = scheduler.schedule()
# +         plan = feed_running(scheduler)
# +         if not plan.preempted:
# +             admit(scheduler, plan)


# %% wrong_simulate_sixteen_arrivals, of right_simulate_plain
# WRONG: sixteen requests are added at most when a step begins
# -         while arriving and arriving[0].arrival <= clock:
# -             scheduler.add(arriving.pop(0))
# +         for _ in range(16):
# +             if arriving and arriving[0].arrival <= clock:
# +                 scheduler.add(arriving.pop(0))


# %% wrong_simulate_500_steps, of right_simulate_plain
# WRONG: it ends after 500 steps
# -     while arriving or scheduler.waiting or scheduler.running:
# +     steps = 0
# +     while (arriving or scheduler.waiting or scheduler.running) and steps < 500:
# +         steps += 1


# %% wrong_simulate_float32_clock, of right_simulate_plain
# WRONG: the clock is a float32, which rounds short steps off when it has gone far
# -         clock += seconds([(n, request.sequence.length) for request, n in plan.chunks])
# +         clock += seconds([(n, request.sequence.length) for request, n in plan.chunks])
# +         clock = float(torch.tensor(clock, dtype=torch.float32))


# %% wrong_simulate_pieces_of_an_answer, of right_simulate_plain
# WRONG: a request that comes back with a part of its answer gets a time for every chunk, though the first ones bring no token
# -         for i, request in enumerate(requests):
# -             if len(request.output) > before[i]:
# -                 times[i].append(clock)
# +         fed = [request for request, _ in plan.chunks]
# +         for i, request in enumerate(requests):
# +             if request in fed and (len(request.output) > before[i] or before[i]):
# +                 times[i].append(clock)


# %% wrong_simulate_a_thousand_steps, of right_simulate_plain
# WRONG: gives up after 1,000 steps
# -     while arriving or scheduler.waiting or scheduler.running:
# +     steps = 0
# +     while (arriving or scheduler.waiting or scheduler.running) and (steps := steps + 1) <= 1000:


# %% wrong_simulate_clock_in_milliseconds, of right_simulate_plain
# WRONG: the clock is rounded to milliseconds after each step
# -         clock += seconds([(n, request.sequence.length) for request, n in plan.chunks])
# +         clock = round(clock + seconds([(n, request.sequence.length) for request, n in plan.chunks]), 3)
