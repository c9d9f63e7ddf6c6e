# Versions of goodput, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_goodput_plain
# RIGHT: step by step; most of the wrong versions are edits of it
def goodput(traces, ttft_slo, itl_slo):
    if not traces:
        raise ValueError("no traces")
    kept = [t.ttft <= ttft_slo and all(g <= itl_slo for g in t.itl) for t in traces]
    span = max(t.token_times[-1] for t in traces) - min(t.arrival for t in traces)
    return sum(kept) / span if span > 0 else 0.0


# %% right_goodput_max
# RIGHT: the largest gap decides
def goodput(traces, ttft_slo, itl_slo):
    kept = sum(1 for t in traces if t.ttft <= ttft_slo and max(t.itl, default=0.0) <= itl_slo)
    seconds = max(t.token_times[-1] for t in traces) - min(t.arrival for t in traces)
    return kept / seconds if seconds else 0.0


# %% right_goodput_not_any
# RIGHT: no gap over the limit; the rate of all requests times the share
def goodput(traces, ttft_slo, itl_slo):
    broken = [t for t in traces if t.ttft > ttft_slo or any(g > itl_slo for g in t.itl)]
    rate = summarize(traces)["requests_per_second"]
    return rate * (len(traces) - len(broken)) / len(traces)


# %% right_goodput_numpy
# RIGHT: numpy over arrays of figures
import numpy as np


def goodput(traces, ttft_slo, itl_slo):
    if len(traces) < 1:
        raise ValueError(f"no requests in {traces}")
    ok = [(t.ttft <= ttft_slo) and bool((np.array(t.itl) <= itl_slo).all()) for t in traces]
    begin = np.min([t.arrival for t in traces])
    end = np.max(np.concatenate([t.token_times for t in traces]))
    return float(np.sum(ok) / (end - begin)) if end > begin else 0.0


# %% wrong_goodput_error_is_a_division
# WRONG: a ZeroDivisionError for no traces instead of a ValueError
def goodput(traces, ttft_slo, itl_slo):
    kept = [t.ttft <= ttft_slo and all(g <= itl_slo for g in t.itl) for t in traces]
    span = max((t.token_times[-1] for t in traces), default=0.0) - min((t.arrival for t in traces), default=0.0)
    return sum(kept) / span

# %% wrong_goodput_no_error, of right_goodput_plain
# WRONG: 0 for no traces instead of a ValueError
# -         raise ValueError("no traces")
# +         return 0.0

# %% wrong_goodput_sorts_the_list, of right_goodput_plain
# WRONG: sorts the list of traces that it was given
#           raise ValueError("no traces")
# +     traces.sort(key=lambda t: t.arrival)

# %% wrong_goodput_any_gap, of right_goodput_plain
# WRONG: one gap within the limit is enough
# -     kept = [t.ttft <= ttft_slo and all(g <= itl_slo for g in t.itl) for t in traces]
# +     kept = [t.ttft <= ttft_slo and min(t.itl, default=0.0) <= itl_slo for t in traces]

# %% wrong_goodput_e2e, of right_goodput_plain
# WRONG: end-to-end latency is compared with the limit for TTFT
# -     kept = [t.ttft <= ttft_slo and all(g <= itl_slo for g in t.itl) for t in traces]
# +     kept = [t.e2e <= ttft_slo and all(g <= itl_slo for g in t.itl) for t in traces]

# %% wrong_goodput_e2e_mean, of right_goodput_plain
# WRONG: the mean time of a token, TTFT included, is compared with the limit for gaps
# -     kept = [t.ttft <= ttft_slo and all(g <= itl_slo for g in t.itl) for t in traces]
# +     kept = [t.ttft <= ttft_slo and t.e2e / len(t.token_times) <= itl_slo for t in traces]

# %% wrong_goodput_either, of right_goodput_plain
# WRONG: one of the two promises is enough
# -     kept = [t.ttft <= ttft_slo and all(g <= itl_slo for g in t.itl) for t in traces]
# +     kept = [t.ttft <= ttft_slo or all(g <= itl_slo for g in t.itl) for t in traces]

# %% wrong_goodput_isclose, of right_goodput_plain
# WRONG: the limit for TTFT is stretched by 1 %
# -     kept = [t.ttft <= ttft_slo and all(g <= itl_slo for g in t.itl) for t in traces]
# +     kept = [t.ttft <= ttft_slo * 1.01 and all(g <= itl_slo for g in t.itl) for t in traces]

# %% wrong_goodput_itl_only, of right_goodput_plain
# WRONG: only the gaps are looked at
# -     kept = [t.ttft <= ttft_slo and all(g <= itl_slo for g in t.itl) for t in traces]
# +     kept = [all(g <= itl_slo for g in t.itl) for t in traces]

# %% wrong_goodput_last_gap, of right_goodput_plain
# WRONG: only the last gap is looked at
# -     kept = [t.ttft <= ttft_slo and all(g <= itl_slo for g in t.itl) for t in traces]
# +     kept = [t.ttft <= ttft_slo and (not t.itl or t.itl[-1] <= itl_slo) for t in traces]

# %% wrong_goodput_mean_gap, of right_goodput_plain
# WRONG: the mean gap decides, so that a stop in the middle breaks nothing
# -     kept = [t.ttft <= ttft_slo and all(g <= itl_slo for g in t.itl) for t in traces]
# +     kept = [t.ttft <= ttft_slo and t.tpot <= itl_slo for t in traces]

# %% wrong_goodput_no_promise_is_none, of right_goodput_plain
# WRONG: a limit of infinity is taken for no answer
# -     kept = [t.ttft <= ttft_slo and all(g <= itl_slo for g in t.itl) for t in traces]
# +     kept = [t.ttft <= ttft_slo and all(g <= itl_slo for g in t.itl) and itl_slo < float("inf") for t in traces]

# %% wrong_goodput_over_gapped, of right_goodput_plain
# WRONG: the rate leaves the requests of one token out
# -     kept = [t.ttft <= ttft_slo and all(g <= itl_slo for g in t.itl) for t in traces]
# +     kept = [bool(t.itl) and t.ttft <= ttft_slo and all(g <= itl_slo for g in t.itl) for t in traces]

# %% wrong_goodput_p99, of right_goodput_plain
# WRONG: p99 of the gaps decides instead of every gap
# -     kept = [t.ttft <= ttft_slo and all(g <= itl_slo for g in t.itl) for t in traces]
# +     kept = [t.ttft <= ttft_slo and (not t.itl or percentile(t.itl, 99) <= itl_slo) for t in traces]

# %% wrong_goodput_single_bad, of right_goodput_plain
# WRONG: a request of one token never keeps the promise
# -     kept = [t.ttft <= ttft_slo and all(g <= itl_slo for g in t.itl) for t in traces]
# +     kept = [t.ttft <= ttft_slo and len(t.itl) > 0 and all(g <= itl_slo for g in t.itl) for t in traces]

# %% wrong_goodput_span_of_the_kept, of right_goodput_plain
# WRONG: counted over the span of the good requests only
#       kept = [t.ttft <= ttft_slo and all(g <= itl_slo for g in t.itl) for t in traces]
# +     traces = [t for t, good in zip(traces, kept) if good] or traces

# %% wrong_goodput_strict, of right_goodput_plain
# WRONG: the limit itself breaks the promise
# -     kept = [t.ttft <= ttft_slo and all(g <= itl_slo for g in t.itl) for t in traces]
# +     kept = [t.ttft < ttft_slo and all(g < itl_slo for g in t.itl) for t in traces]

# %% wrong_goodput_strict_gap, of right_goodput_plain
# WRONG: a gap of exactly the limit breaks the promise
# -     kept = [t.ttft <= ttft_slo and all(g <= itl_slo for g in t.itl) for t in traces]
# +     kept = [t.ttft <= ttft_slo and all(g < itl_slo for g in t.itl) for t in traces]

# %% wrong_goodput_strict_ttft, of right_goodput_plain
# WRONG: a TTFT of exactly the limit breaks the promise
# -     kept = [t.ttft <= ttft_slo and all(g <= itl_slo for g in t.itl) for t in traces]
# +     kept = [t.ttft < ttft_slo and all(g <= itl_slo for g in t.itl) for t in traces]

# %% wrong_goodput_swapped, of right_goodput_plain
# WRONG: the two limits are exchanged
# -     kept = [t.ttft <= ttft_slo and all(g <= itl_slo for g in t.itl) for t in traces]
# +     kept = [t.ttft <= itl_slo and all(g <= ttft_slo for g in t.itl) for t in traces]

# %% wrong_goodput_tolerance, of right_goodput_plain
# WRONG: 1 ms of tolerance for a gap
# -     kept = [t.ttft <= ttft_slo and all(g <= itl_slo for g in t.itl) for t in traces]
# +     kept = [t.ttft <= ttft_slo and all(g <= itl_slo + 1e-3 for g in t.itl) for t in traces]

# %% wrong_goodput_ttft_only, of right_goodput_plain
# WRONG: only TTFT is looked at
# -     kept = [t.ttft <= ttft_slo and all(g <= itl_slo for g in t.itl) for t in traces]
# +     kept = [t.ttft <= ttft_slo for t in traces]

# %% wrong_goodput_span_by_place, of right_goodput_plain
# WRONG: the span runs from the first trace of the list to its last, which need not be the first and last in time
# -     span = max(t.token_times[-1] for t in traces) - min(t.arrival for t in traces)
# +     span = traces[-1].token_times[-1] - traces[0].arrival

# %% wrong_goodput_span_from_zero, of right_goodput_plain
# WRONG: the span begins at 0 on the clock instead of at the first arrival
# -     span = max(t.token_times[-1] for t in traces) - min(t.arrival for t in traces)
# +     span = max(t.token_times[-1] for t in traces)

# %% wrong_goodput_span_of_arrivals, of right_goodput_plain
# WRONG: the span ends with the last arrival instead of the last token
# -     span = max(t.token_times[-1] for t in traces) - min(t.arrival for t in traces)
# +     span = max(t.arrival for t in traces) - min(t.arrival for t in traces)

# %% wrong_goodput_a_minute, of right_goodput_plain
# WRONG: requests a minute instead of a second
# -     return sum(kept) / span if span > 0 else 0.0
# +     return 60 * sum(kept) / span if span > 0 else 0.0

# %% wrong_goodput_all_requests, of right_goodput_plain
# WRONG: all requests a second, good or not
# -     return sum(kept) / span if span > 0 else 0.0
# +     return len(kept) / span if span > 0 else 0.0

# %% wrong_goodput_at_most_one_a_second, of right_goodput_plain
# WRONG: never more than one request a second
# -     return sum(kept) / span if span > 0 else 0.0
# +     return min(sum(kept) / span, 1.0) if span > 0 else 0.0

# %% wrong_goodput_count, of right_goodput_plain
# WRONG: the number of good requests instead of their rate
# -     return sum(kept) / span if span > 0 else 0.0
# +     return float(sum(kept))

# %% wrong_goodput_good_tokens, of right_goodput_plain
# WRONG: tokens a second of the good requests instead of requests
# -     return sum(kept) / span if span > 0 else 0.0
# +     return sum(len(t.token_times) for t, good in zip(traces, kept) if good) / span if span > 0 else 0.0

# %% wrong_goodput_rounded, of right_goodput_plain
# WRONG: the rate is rounded to two decimals
# -     return sum(kept) / span if span > 0 else 0.0
# +     return round(sum(kept) / span, 2) if span > 0 else 0.0

# %% wrong_goodput_share, of right_goodput_plain
# WRONG: the share of good requests (SLO attainment) instead of their rate
# -     return sum(kept) / span if span > 0 else 0.0
# +     return sum(kept) / len(kept)

# %% wrong_goodput_span_at_least_a_second, of right_goodput_plain
# WRONG: a span shorter than a second counts as a second
# -     return sum(kept) / span if span > 0 else 0.0
# +     return sum(kept) / max(span, 1.0) if span > 0 else 0.0

# %% wrong_goodput_span_raises, of right_goodput_plain
# WRONG: divides by 0 where all happens at one instant
# -     return sum(kept) / span if span > 0 else 0.0
# +     return sum(kept) / span

# %% wrong_goodput_drops_the_broken, of right_goodput_plain
# WRONG: takes out of the caller's list what has not kept its promise
#       span = max(t.token_times[-1] for t in traces) - min(t.arrival for t in traces)
# +     traces[:] = [t for t, good in zip(traces, kept) if good]

# %% wrong_goodput_a_millionth_over, of right_goodput_plain
# WRONG: a gap may be a millionth over its limit
# -     kept = [t.ttft <= ttft_slo and all(g <= itl_slo for g in t.itl) for t in traces]
# +     kept = [t.ttft <= ttft_slo and all(g <= itl_slo * (1 + 1e-6) for g in t.itl) for t in traces]

# %% wrong_goodput_ttft_a_billionth_over, of right_goodput_plain
# WRONG: TTFT may be a billionth of a second over its limit
# -     kept = [t.ttft <= ttft_slo and all(g <= itl_slo for g in t.itl) for t in traces]
# +     kept = [t.ttft <= ttft_slo + 1e-9 and all(g <= itl_slo for g in t.itl) for t in traces]

# %% wrong_goodput_rounded_times, of right_goodput_plain
# WRONG: TTFT and gaps are rounded to milliseconds before the comparison
# -     kept = [t.ttft <= ttft_slo and all(g <= itl_slo for g in t.itl) for t in traces]
# +     kept = [round(t.ttft, 3) <= ttft_slo and all(round(g, 3) <= itl_slo for g in t.itl) for t in traces]

# %% wrong_goodput_first_gaps, of right_goodput_plain
# WRONG: only the first 128 gaps of an answer are looked at
# -     kept = [t.ttft <= ttft_slo and all(g <= itl_slo for g in t.itl) for t in traces]
# +     kept = [t.ttft <= ttft_slo and all(g <= itl_slo for g in t.itl[:128]) for t in traces]
