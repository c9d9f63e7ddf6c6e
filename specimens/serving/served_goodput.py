# Versions of served_goodput, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_served_plain
# RIGHT: counted; most of the wrong versions are edits of it
def served_goodput(traces, ttft_slo, itl_slo):
    if len(traces) == 0:
        raise ValueError("no request")
    kept = 0
    for trace in traces:
        if trace is None:
            continue
        if trace.ttft <= ttft_slo and all(gap <= itl_slo for gap in trace.itl):
            kept += 1
    return kept / len(traces)


# %% right_served_max
# RIGHT: the largest gap decides; a mean of truth values
def served_goodput(traces, ttft_slo, itl_slo):
    if not traces:
        raise ValueError("served_goodput of nobody")
    good = [t is not None and t.ttft <= ttft_slo and max(t.itl, default=0.0) <= itl_slo for t in traces]
    return sum(good) / len(good)


# %% right_served_missed
# RIGHT: one minus the share that missed
def served_goodput(traces, ttft_slo, itl_slo):
    if not len(traces):
        raise ValueError(f"at least one request, got {traces}")

    def missed(t):
        if t is None:
            return True
        first, gaps = t.token_times[0] - t.arrival, [b - a for a, b in zip(t.token_times, t.token_times[1:])]
        return first > ttft_slo or any(gap > itl_slo for gap in gaps)

    return 1.0 - len([t for t in traces if missed(t)]) / len(traces)


# %% wrong_served_of_the_served, of right_served_plain
# WRONG: the share of those that were served
# -     return kept / len(traces)
# +     return kept / max(1, sum(trace is not None for trace in traces))


# %% wrong_served_refused_is_kept, of right_served_plain
# WRONG: a refused request has broken no promise
#           if trace is None:
# -             continue
# +             kept += 1
# +             continue


# %% wrong_served_ttft_only, of right_served_plain
# WRONG: only the first token counts
# -         if trace.ttft <= ttft_slo and all(gap <= itl_slo for gap in trace.itl):
# +         if trace.ttft <= ttft_slo:


# %% wrong_served_itl_only, of right_served_plain
# WRONG: only the gaps count
# -         if trace.ttft <= ttft_slo and all(gap <= itl_slo for gap in trace.itl):
# +         if all(gap <= itl_slo for gap in trace.itl):


# %% wrong_served_any_gap, of right_served_plain
# WRONG: one gap that keeps the promise is enough
# -         if trace.ttft <= ttft_slo and all(gap <= itl_slo for gap in trace.itl):
# +         if trace.ttft <= ttft_slo and (not trace.itl or any(gap <= itl_slo for gap in trace.itl)):


# %% wrong_served_mean_gap, of right_served_plain
# WRONG: the mean gap counts
# -         if trace.ttft <= ttft_slo and all(gap <= itl_slo for gap in trace.itl):
# +         if trace.ttft <= ttft_slo and trace.tpot <= itl_slo:


# %% wrong_served_or, of right_served_plain
# WRONG: one promise is enough
# -         if trace.ttft <= ttft_slo and all(gap <= itl_slo for gap in trace.itl):
# +         if trace.ttft <= ttft_slo or all(gap <= itl_slo for gap in trace.itl):


# %% wrong_served_ttft_below, of right_served_plain
# WRONG: exactly at the limit of TTFT is broken
# -         if trace.ttft <= ttft_slo and all(gap <= itl_slo for gap in trace.itl):
# +         if trace.ttft < ttft_slo and all(gap <= itl_slo for gap in trace.itl):


# %% wrong_served_itl_below, of right_served_plain
# WRONG: exactly at the limit of a gap is broken
# -         if trace.ttft <= ttft_slo and all(gap <= itl_slo for gap in trace.itl):
# +         if trace.ttft <= ttft_slo and all(gap < itl_slo for gap in trace.itl):


# %% wrong_served_promises_exchanged, of right_served_plain
# WRONG: the promises are exchanged
# -         if trace.ttft <= ttft_slo and all(gap <= itl_slo for gap in trace.itl):
# +         if trace.ttft <= itl_slo and all(gap <= ttft_slo for gap in trace.itl):


# %% wrong_served_e2e, of right_served_plain
# WRONG: the whole answer has to come within the first promise
# -         if trace.ttft <= ttft_slo and all(gap <= itl_slo for gap in trace.itl):
# +         if trace.e2e <= ttft_slo and all(gap <= itl_slo for gap in trace.itl):


# %% wrong_served_single_token_missed, of right_served_plain
# WRONG: a single token keeps no promise of gaps
# -         if trace.ttft <= ttft_slo and all(gap <= itl_slo for gap in trace.itl):
# +         if trace.ttft <= ttft_slo and trace.itl and all(gap <= itl_slo for gap in trace.itl):


# %% wrong_served_first_gap, of right_served_plain
# WRONG: only the first gap counts
# -         if trace.ttft <= ttft_slo and all(gap <= itl_slo for gap in trace.itl):
# +         if trace.ttft <= ttft_slo and all(gap <= itl_slo for gap in trace.itl[:1]):


# %% wrong_served_count, of right_served_plain
# WRONG: how many, not which share
# -     return kept / len(traces)
# +     return float(kept)


# %% wrong_served_percent, of right_served_plain
# WRONG: in percent
# -     return kept / len(traces)
# +     return 100 * kept / len(traces)


# %% wrong_served_rate
# WRONG: a rate, as Day 8 has it
def served_goodput(traces, ttft_slo, itl_slo):
    if len(traces) == 0:
        raise ValueError("no request")
    served = [trace for trace in traces if trace is not None]
    if not served:
        return 0.0
    kept = [t.ttft <= ttft_slo and all(gap <= itl_slo for gap in t.itl) for t in served]
    span = max(t.token_times[-1] for t in served) - min(t.arrival for t in served)
    return sum(kept) / span if span > 0 else 0.0


# %% wrong_served_empty_is_zero, of right_served_plain
# WRONG: nobody is 0
#       if len(traces) == 0:
# -         raise ValueError("no request")
# +         return 0.0


# %% wrong_served_empty_divides, of right_served_plain
# WRONG: nobody is a division by 0
# -     if len(traces) == 0:
# -         raise ValueError("no request")


# %% wrong_served_nobody_served, of right_served_plain
# WRONG: nobody served is an error
# -     if len(traces) == 0:
# +     if all(trace is None for trace in traces):


# %% wrong_served_list_changed
# WRONG: refused requests are taken out of the caller's list
def served_goodput(traces, ttft_slo, itl_slo):
    if len(traces) == 0:
        raise ValueError("no request")
    total = len(traces)
    while None in traces:
        traces.remove(None)
    kept = [t for t in traces if t.ttft <= ttft_slo and all(gap <= itl_slo for gap in t.itl)]
    return len(kept) / total


# %% wrong_served_missed_share, of right_served_plain
# WRONG: the share that missed
# -     return kept / len(traces)
# +     return 1 - kept / len(traces)


# %% wrong_served_none_breaks, of right_served_plain
# WRONG: a refused request breaks it
# -         if trace is None:
# -             continue


# %% wrong_served_rounded_gaps, of right_served_plain
# WRONG: gaps are rounded to milliseconds before they are compared
# -         if trace.ttft <= ttft_slo and all(gap <= itl_slo for gap in trace.itl):
# +         if trace.ttft <= ttft_slo and all(round(gap, 3) <= itl_slo for gap in trace.itl):


# %% wrong_served_p99_gap, of right_served_plain
# WRONG: the 99th percentile of the gaps decides: one long gap among hundreds is forgiven
# -         if trace.ttft <= ttft_slo and all(gap <= itl_slo for gap in trace.itl):
# +         if trace.ttft <= ttft_slo and (not trace.itl or sorted(trace.itl)[int(0.99 * len(trace.itl))] <= itl_slo):
