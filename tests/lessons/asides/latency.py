# === capacity
# Answers to "How much can you sell?" of the latency day. How they are judged: tests/lessons/test_asides.py.


# %% right_every_load
# RIGHT: one after the other, and the last that is good
def capacity(ttft_slo, itl_slo):
    best = 0.0
    for hundredths in range(1, 161):
        traces = one_server(hundredths / 100)
        kept = sum(trace.ttft <= ttft_slo and max(trace.itl) <= itl_slo for trace in traces)
        if kept >= 360:
            best = hundredths / 100
    return best


# %% right_halved
# RIGHT: the interval is halved again and again
def capacity(ttft_slo, itl_slo):
    low, high = 0, 161
    while high - low > 1:
        middle = (low + high) // 2
        traces = one_server(middle / 100)
        kept = [trace for trace in traces if trace.ttft <= ttft_slo and all(gap <= itl_slo for gap in trace.itl)]
        low, high = (middle, high) if len(kept) >= 360 else (low, middle)
    return low / 100


# %% right_by_goodput
# RIGHT: the course's goodput over the rate of all requests, from above
def capacity(ttft_slo, itl_slo):
    for hundredths in range(160, 0, -1):
        traces = one_server(hundredths / 100)
        if goodput(traces, ttft_slo, itl_slo) >= 0.8999 * summarize(traces)["requests_per_second"]:
            return hundredths / 100
    return 0.0


# %% wrong_goodput_peak, of right_every_load
# WRONG: the load at which the goodput is highest
# -         if kept >= 360:
# +         if kept * hundredths > getattr(capacity, "most", 0) * 1:
# +             capacity.most = kept * hundredths


# %% wrong_half, of right_every_load
# WRONG: the median keeps the promise
# -         if kept >= 360:
# +         if kept >= 200:


# %% wrong_p99, of right_every_load
# WRONG: 99 of 100
# -         if kept >= 360:
# +         if kept >= 396:


# %% wrong_ttft_alone, of right_every_load
# WRONG: gaps are not looked at
# -         kept = sum(trace.ttft <= ttft_slo and max(trace.itl) <= itl_slo for trace in traces)
# +         kept = sum(trace.ttft <= ttft_slo for trace in traces)


# %% wrong_end_to_end, of right_every_load
# WRONG: the whole answer within the first limit
# -         kept = sum(trace.ttft <= ttft_slo and max(trace.itl) <= itl_slo for trace in traces)
# +         kept = sum(trace.e2e <= ttft_slo and max(trace.itl) <= itl_slo for trace in traces)


# %% wrong_mean_wait
# WRONG: the mean wait is within the limit
def capacity(ttft_slo, itl_slo):
    good = [0.0]
    for hundredths in range(1, 161):
        traces = one_server(hundredths / 100)
        if sum(trace.ttft for trace in traces) / len(traces) <= ttft_slo and max(traces[0].itl) <= itl_slo:
            good.append(hundredths / 100)
    return max(good)


# %% wrong_one_too_many, of right_halved
# WRONG: the first load that is too high
# -     return low / 100
# +     return high / 100


# %% wrong_tenths
# WRONG: steps of a tenth
def capacity(ttft_slo, itl_slo):
    good = [0.0]
    for tenths in range(1, 17):
        traces = one_server(tenths / 10)
        if sum(trace.ttft <= ttft_slo and max(trace.itl) <= itl_slo for trace in traces) >= 360:
            good.append(tenths / 10)
    return max(good)


# %% wrong_what_it_can_do
# WRONG: one over the time of a request
def capacity(ttft_slo, itl_slo):
    return 1 / 0.68


# %% wrong_nan
# WRONG: no number
def capacity(ttft_slo, itl_slo):
    return math.nan


# %% wrong_none
# WRONG: nothing comes back
def capacity(ttft_slo, itl_slo):
    pass


# %% wrong_more_than
# WRONG: more than 360, not 360 and more
def capacity(ttft_slo, itl_slo):
    for i in range(160, 0, -1):
        if sum(t.ttft <= ttft_slo and max(t.itl) <= itl_slo for t in one_server(i / 100)) > 360:
            return i / 100
    return 0.0


# === hedge
# Answers to the challenge of the latency day, hedged requests. How they are judged: tests/lessons/test_asides.py.


# %% right_in_order
# RIGHT: the longest wait that is not sent twice
def hedge(first, second, budget):
    copies = int(budget * len(first))
    longest = sorted(first, reverse=True)
    patience = longest[copies] if copies < len(longest) else 0.0
    return patience, [min(one, patience + other) if one > patience else one for one, other in zip(first, second)]


# %% right_every_wait
# RIGHT: the smallest of all that hold, found in the order of the waits
def hedge(first, second, budget):
    order = [0.0, *sorted(first)]
    for place, patience in enumerate(order):
        if patience == order[min(place + 1, len(order) - 1)] and place + 1 < len(order):
            continue
        if len(first) - place <= budget * len(first):
            break
    return patience, [min(one, patience + other) for one, other in zip(first, second)]


# %% right_torch
# RIGHT: with torch
def hedge(first, second, budget):
    if not first:
        return 0.0, []
    one, other = torch.tensor(first, dtype=torch.float64), torch.tensor(second, dtype=torch.float64)
    stay = len(first) - math.floor(budget * len(first))
    patience = one.kthvalue(stay).values.item() if stay else 0.0
    return patience, torch.minimum(one, patience + other).tolist()


# %% wrong_percentile
# WRONG: a percentile lies between two waits, and a shorter patience does as well
def hedge(first, second, budget):
    patience = percentile(first, 100 * (1 - budget)) if first else 0.0
    return patience, [min(one, patience + other) for one, other in zip(first, second)]


# %% wrong_over_budget, of right_in_order
# WRONG: one more than the budget allows
# -     copies = int(budget * len(first))
# +     copies = int(budget * len(first)) + 1


# %% wrong_under_budget, of right_in_order
# WRONG: one copy less than is allowed
# -     copies = int(budget * len(first))
# +     copies = max(int(budget * len(first)) - 1, 0)


# %% wrong_second_at_once, of right_in_order
# WRONG: the second server is asked at the beginning
# -     return patience, [min(one, patience + other) if one > patience else one for one, other in zip(first, second)]
# +     return patience, [min(one, other) if one > patience else one for one, other in zip(first, second)]


# %% wrong_gives_up_the_first, of right_in_order
# WRONG: the first answer is not waited for any more
# -     return patience, [min(one, patience + other) if one > patience else one for one, other in zip(first, second)]
# +     return patience, [patience + other if one > patience else one for one, other in zip(first, second)]


# %% wrong_sorted_waits, of right_in_order
# WRONG: the waits come back in another order
# -     return patience, [min(one, patience + other) if one > patience else one for one, other in zip(first, second)]
# +     return patience, sorted(min(one, patience + other) if one > patience else one for one, other in zip(first, second))


# %% wrong_sorts_in_place, of right_in_order
# WRONG: the caller's list is put in order
# -     longest = sorted(first, reverse=True)
# +     first.sort(reverse=True)
# +     longest = first


# %% wrong_everybody_twice, of right_in_order
# WRONG: no patience at all
# -     patience = longest[copies] if copies < len(longest) else 0.0
# +     patience = 0.0


# %% wrong_nobody_twice, of right_in_order
# WRONG: endless patience
# -     patience = longest[copies] if copies < len(longest) else 0.0
# +     patience = math.inf


# %% wrong_no_requests, of right_in_order
# WRONG: breaks without requests
# -     patience = longest[copies] if copies < len(longest) else 0.0
# +     patience = longest[copies] if copies < len(longest) or not longest else 0.0


# %% wrong_nan, of right_in_order
# WRONG: no number
# -     patience = longest[copies] if copies < len(longest) else 0.0
# +     patience = math.nan


# %% wrong_none
# WRONG: nothing comes back
def hedge(first, second, budget):
    pass


# %% wrong_fewer_waits, of right_in_order
# WRONG: only the waits of those who were sent twice
# -     return patience, [min(one, patience + other) if one > patience else one for one, other in zip(first, second)]
# +     return patience, [min(one, patience + other) for one, other in zip(first, second) if one > patience]


# %% wrong_ceil
# WRONG: one request more than the share allows
def hedge(first, second, budget):
    k = math.ceil(budget * len(first))
    order = sorted(first, reverse=True)
    patience = order[k] if k < len(first) else 0.0
    return patience, [w if w <= patience else min(w, patience + s) for w, s in zip(first, second)]


# %% wrong_round
# WRONG: rounded to the nearest, up too
def hedge(first, second, budget):
    k = round(budget * len(first))
    order = sorted(first, reverse=True)
    patience = order[k] if k < len(first) else 0.0
    return patience, [w if w <= patience else min(w, patience + s) for w, s in zip(first, second)]


# === my_gaps
# Gaps for "Find the bug" of the latency day, a goodput that looks at the mean gap. How they are judged: tests/lessons/test_asides.py.


# %% right_the_one_that_hangs
# RIGHT: half a second in the middle
my_gaps = [0.0125] * 20 + [0.5125] + [0.0125] * 19


# %% right_at_the_end
# RIGHT: the last gap
my_gaps = [0.01] * 9 + [0.3]


# %% right_first
# RIGHT: the first gap of few
my_gaps = (0.12, 0.01, 0.01)


# %% right_several
# RIGHT: a stop every ten tokens
my_gaps = ([0.02] * 9 + [0.2]) * 4


# %% wrong_as_released
# WRONG: the cell's own: no gap is too long
my_gaps = [0.03, 0.04, 0.03]


# %% wrong_all_too_long
# WRONG: the mean is too long as well
my_gaps = [0.2, 0.2, 0.2]


# %% wrong_by_hand
# WRONG: the request of the text; the colleague is right about it
my_gaps = [0.03125, 0.25]


# %% wrong_one_gap
# WRONG: its own mean
my_gaps = [0.5]


# %% wrong_none
# WRONG: a single token
my_gaps = []


# %% wrong_at_the_limit
# WRONG: every gap is exactly the limit, but for the rounding of a difference
my_gaps = [0.05] * 40


# %% wrong_hardly_a_stop
# WRONG: a gap over the limit, but not twice as long
my_gaps = [0.02] * 20 + [0.06]


# %% wrong_back_in_time
# WRONG: a gap below zero
my_gaps = [0.5, -0.45]


# %% wrong_for_ever
# WRONG: an endless gap
my_gaps = [0.01, math.inf]


# %% wrong_nan
# WRONG: no number
my_gaps = [0.01, math.nan]


# %% wrong_a_number
# WRONG: no list
my_gaps = 0.5


# === my_servers
# Answers to "Check what you read" of the latency day, the mean of two percentiles. How they are judged: tests/lessons/test_asides.py.


# %% right_alike_in_size
# RIGHT: as many waits each
my_servers = [[0.1] * 100, [1.8] * 100]


# %% right_nearly_all_on_one
# RIGHT: one server has most of the requests
my_servers = [[0.05] * 100, [0.3] * 9700 + [1.7] * 300]


# %% right_a_tail
# RIGHT: two in a hundred are slow, on one server with ten times the requests
my_servers = ([0.1] * 200, [0.2] * 1960 + [1.85] * 40)


# %% right_tuples
# RIGHT: no lists
my_servers = (tuple([1.6] * 150), tuple([0.2] * 120))


# %% wrong_as_released
# WRONG: the cell's own
my_servers = [[0.2] * 100, [0.4] * 100]


# %% wrong_both_slow
# WRONG: the mean says so too
my_servers = [[2.0] * 100, [2.0] * 100]


# %% wrong_too_good
# WRONG: the mean is too dark: nearly nobody waited
my_servers = [[0.1] * 10_000, [9.0] * 100]


# %% wrong_too_few
# WRONG: a p99 of two waits
my_servers = [[0.1, 0.1], [1.8, 1.8]]


# %% wrong_one_server
# WRONG: one list
my_servers = [[1.8] * 100]


# %% wrong_three
# WRONG: three servers
my_servers = [[0.1] * 100, [0.1] * 100, [1.8] * 100]


# %% wrong_mean_too_high
# WRONG: the mean is exactly a second
my_servers = [[0.0] * 100, [2.0] * 100]


# %% wrong_before_the_request
# WRONG: waits below zero bring the mean down
my_servers = [[-5.0] * 100, [5.0] * 100]


# %% wrong_nan
# WRONG: no order
my_servers = [[math.nan] * 100, [1.8] * 100]


# %% wrong_infinite
# WRONG: for ever
my_servers = [[0.1] * 100, [1.8] * 99 + [math.inf]]


# %% wrong_rare
# WRONG: the slow waits are less than one in a hundred of all
my_servers = [[0.1] * 10_000, [0.1] * 95 + [1.8] * 5]


# %% wrong_a_flat_list
# WRONG: waits, and of nobody
my_servers = [0.1, 1.8]


# === my_waits
# Waits for "Find the bug" of the latency day, a percentile rounded down. How they are judged: tests/lessons/test_asides.py.


# %% right_by_hand
# RIGHT: the ten of the text
my_waits = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 3.0]


# %% right_two
# RIGHT: two are enough
my_waits = [0.1, 2.0]


# %% right_unordered
# RIGHT: the long one first
my_waits = [20.0] + [0.5] * 9


# %% right_a_hundred
# RIGHT: one of a hundred, and it is long enough
my_waits = tuple([0.1] * 99 + [60])


# %% wrong_as_released
# WRONG: the cell's own, wrong by a third
my_waits = [0.3, 0.1, 0.2]


# %% wrong_a_hundred_and_one
# WRONG: the place is a whole number
my_waits = [0.1] * 100 + [60.0]


# %% wrong_all_alike
# WRONG: every place has the same wait
my_waits = [0.5] * 10


# %% wrong_two_long_ones
# WRONG: the colleague sees the other long one
my_waits = [0.1] * 8 + [3.0, 3.0]


# %% wrong_one
# WRONG: one wait
my_waits = [3.0]


# %% wrong_none
# WRONG: no wait
my_waits = []


# %% wrong_nan
# WRONG: no order
my_waits = [0.1, math.nan]


# %% wrong_infinite
# WRONG: for ever
my_waits = [0.1, math.inf]


# %% wrong_below_zero
# WRONG: a wait before the request
my_waits = [-5.0, 0.0]


# %% wrong_a_number
# WRONG: no list
my_waits = 3.0


# %% wrong_words
# WRONG: no numbers
my_waits = ["short", "long"]


# %% wrong_half
# WRONG: 91 % of the way from 0.9 is not twice as much
my_waits = [0.1] * 8 + [0.9, 1.8]
