# Answers to "How much can you sell?" of the latency day. How they are judged: tests/test_asides.py.


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
