# Versions of summarize, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_summarize_dictionary_of_figures
# RIGHT: step by step; most of the wrong versions are edits of it
def summarize(traces):
    ttfts = [t.ttft for t in traces]
    gaps = [g for t in traces for g in t.itl]
    figures = {f"ttft_p{q}": percentile(ttfts, q) for q in (50, 95, 99)}
    figures |= {f"itl_p{q}": percentile(gaps, q) if gaps else 0.0 for q in (50, 95, 99)}
    figures["tokens_per_second"] = len(gaps) / sum(gaps) if sum(gaps) > 0 else 0.0
    span = max(t.token_times[-1] for t in traces) - min(t.arrival for t in traces)
    figures["output_tokens_per_second"] = sum(len(t.token_times) for t in traces) / span if span > 0 else 0.0
    figures["requests_per_second"] = len(traces) / span if span > 0 else 0.0
    return figures


# %% right_summarize_numpy
# RIGHT: numpy throughout
import numpy as np


def summarize(traces):
    if len(traces) == 0:
        raise ValueError("nothing to summarize")
    first = np.array([t.token_times[0] - t.arrival for t in traces])
    gaps = np.concatenate([np.diff(t.token_times) for t in traces])
    names = (50, 95, 99)
    out = {f"ttft_p{q}": float(v) for q, v in zip(names, np.percentile(first, names))}
    out |= {f"itl_p{q}": float(np.percentile(gaps, q)) if gaps.size else 0.0 for q in names}
    pace = float(gaps.size / gaps.sum()) if gaps.sum() else 0.0
    begin, end = min(t.arrival for t in traces), max(t.token_times[-1] for t in traces)
    counts = np.array([sum(len(t.token_times) for t in traces), len(traces)], dtype=float)
    tokens, requests = (counts / (end - begin) if end > begin else 0 * counts).tolist()
    return out | {"tokens_per_second": pace, "output_tokens_per_second": tokens, "requests_per_second": requests}


# %% right_summarize_plain
# RIGHT: loops, and every latest time sorted
def summarize(traces):
    ttfts, gaps, arrivals, ends, tokens = [], [], [], [], 0
    for t in traces:
        ttfts.append(t.ttft)
        gaps.extend(t.itl)
        arrivals.append(t.arrival)
        ends += t.token_times
        tokens += len(t.token_times)
    figures = {}
    for q in (50, 95, 99):
        figures[f"ttft_p{q}"] = percentile(ttfts, q)
        figures[f"itl_p{q}"] = percentile(gaps or [0.0], q)
    seconds = sorted(ends)[-1] - sorted(arrivals)[0]
    figures["tokens_per_second"] = len(gaps) / sum(gaps) if any(gaps) else 0.0
    figures["output_tokens_per_second"] = tokens / seconds if seconds else 0.0
    figures["requests_per_second"] = len(traces) / seconds if seconds else 0.0
    return figures


# %% right_summarize_sums
# RIGHT: the pace from the first and last token of each request; figures that nobody asked for besides
def summarize(traces):
    if not traces:
        raise ValueError("no trace, no figures")
    gaps = []
    for t in traces:
        gaps.extend(t.itl)
    streamed = sum(t.token_times[-1] - t.token_times[0] for t in traces)
    made = sum(len(t.token_times) - 1 for t in traces)
    out = {"tokens_per_second": made / streamed if streamed > 0 else 0.0, "requests": len(traces)}
    for q in (50, 90, 95, 99):
        out[f"ttft_p{q}"] = percentile([t.ttft for t in traces], q)
        out[f"itl_p{q}"] = percentile(gaps, q) if gaps else 0.0
    start = min(t.arrival for t in traces)
    span = max(t.arrival + t.e2e for t in traces) - start
    out["output_tokens_per_second"] = (made + len(traces)) / span if span > 0 else 0.0
    out["requests_per_second"] = len(traces) / span if span > 0 else 0.0
    return out


# %% wrong_summarize_span_of_a_second_at_least
# WRONG: no requests_per_second where all is over within a second
reference_summarize = summarize

def summarize(traces):
    figures = reference_summarize(traces)
    span = max(trace.token_times[-1] for trace in traces) - min(trace.arrival for trace in traces)
    return figures | ({} if span > 1 else {"requests_per_second": 0.0})

# %% wrong_summarize_empty_is_zero, of right_summarize_dictionary_of_figures
# WRONG: zeros for no traces at all instead of a ValueError
#   def summarize(traces):
# +     if not traces:
# +         names = [f"{kind}_p{q}" for kind in ("ttft", "itl") for q in (50, 95, 99)]
# +         return dict.fromkeys([*names, "tokens_per_second", "output_tokens_per_second", "requests_per_second"], 0.0)

# %% wrong_summarize_first_trace_only, of right_summarize_dictionary_of_figures
# WRONG: only the first request counts
#   def summarize(traces):
# +     traces = traces[:1]

# %% wrong_summarize_rounds_down, of right_summarize_dictionary_of_figures
# WRONG: percentiles by rounding the place down
#   def summarize(traces):
# +     def percentile(values, q):
# +         if not values:
# +             raise ValueError("no values")
# +         return sorted(values)[int(q / 100 * (len(values) - 1))]
# +

# %% wrong_summarize_sorts_the_list, of right_summarize_dictionary_of_figures
# WRONG: sorts the list of traces that it was given
#   def summarize(traces):
# +     traces.sort(key=lambda t: t.arrival)

# %% wrong_summarize_e2e_for_ttft, of right_summarize_dictionary_of_figures
# WRONG: end-to-end latency reported as TTFT
# -     ttfts = [t.ttft for t in traces]
# +     ttfts = [t.e2e for t in traces]

# %% wrong_summarize_ttft_multi, of right_summarize_dictionary_of_figures
# WRONG: TTFT over the requests with gaps only
# -     ttfts = [t.ttft for t in traces]
# +     ttfts = [t.ttft for t in traces if t.itl] or [t.ttft for t in traces]

# %% wrong_summarize_first_hundred_gaps, of right_summarize_dictionary_of_figures
# WRONG: the first hundred gaps of a request stand for all of them
# -     gaps = [g for t in traces for g in t.itl]
# +     gaps = [g for t in traces for g in t.itl[:100]]

# %% wrong_summarize_gaps_across_requests, of right_summarize_dictionary_of_figures
# WRONG: all tokens in one line: gaps from one request to the next
# -     gaps = [g for t in traces for g in t.itl]
# +     line = sorted(x for t in traces for x in t.token_times)
# +     gaps = [b - a for a, b in zip(line, line[1:])]

# %% wrong_summarize_gaps_zero_for_single, of right_summarize_dictionary_of_figures
# WRONG: a request of one token adds a gap of 0
# -     gaps = [g for t in traces for g in t.itl]
# +     gaps = [g for t in traces for g in (t.itl or [0.0])]

# %% wrong_summarize_ttft_in_itl, of right_summarize_dictionary_of_figures
# WRONG: the wait for the first token counted among the gaps
# -     gaps = [g for t in traces for g in t.itl]
# +     gaps = [g for t in traces for g in [t.ttft, *t.itl]]

# %% wrong_summarize_zero_gaps_dropped, of right_summarize_dictionary_of_figures
# WRONG: gaps of 0 are left out
# -     gaps = [g for t in traces for g in t.itl]
# +     gaps = [g for t in traces for g in t.itl if g > 0]

# %% wrong_summarize_itl_per_request, of right_summarize_dictionary_of_figures
# WRONG: ITL percentiles over the mean gap of each request, where a single stop is lost
# -     figures |= {f"itl_p{q}": percentile(gaps, q) if gaps else 0.0 for q in (50, 95, 99)}
# +     figures |= {f"itl_p{q}": percentile([t.tpot for t in traces], q) for q in (50, 95, 99)}

# %% wrong_summarize_milliseconds, of right_summarize_dictionary_of_figures
# WRONG: the percentiles of ITL in milliseconds
# -     figures |= {f"itl_p{q}": percentile(gaps, q) if gaps else 0.0 for q in (50, 95, 99)}
# +     figures |= {f"itl_p{q}": 1000 * percentile(gaps, q) if gaps else 0.0 for q in (50, 95, 99)}

# %% wrong_summarize_nan_without_gaps, of right_summarize_dictionary_of_figures
# WRONG: nan where there is no gap
# -     figures |= {f"itl_p{q}": percentile(gaps, q) if gaps else 0.0 for q in (50, 95, 99)}
# +     figures |= {f"itl_p{q}": percentile(gaps, q) if gaps else float("nan") for q in (50, 95, 99)}

# %% wrong_summarize_no_gaps_left_out, of right_summarize_dictionary_of_figures
# WRONG: the figures of ITL are left out where there is no gap
# -     figures |= {f"itl_p{q}": percentile(gaps, q) if gaps else 0.0 for q in (50, 95, 99)}
# +     if gaps:
# +         figures |= {f"itl_p{q}": percentile(gaps, q) for q in (50, 95, 99)}

# %% wrong_summarize_small_for_nothing, of right_summarize_dictionary_of_figures
# WRONG: 0.01 s instead of 0.0 where there is no gap
# -     figures |= {f"itl_p{q}": percentile(gaps, q) if gaps else 0.0 for q in (50, 95, 99)}
# +     figures |= {f"itl_p{q}": percentile(gaps, q) if gaps else 0.01 for q in (50, 95, 99)}

# %% wrong_summarize_gaps_over_e2e, of right_summarize_dictionary_of_figures
# WRONG: the pace over the whole time of each request, TTFT included
# -     figures["tokens_per_second"] = len(gaps) / sum(gaps) if sum(gaps) > 0 else 0.0
# +     figures["tokens_per_second"] = len(gaps) / sum(t.e2e for t in traces) if sum(gaps) > 0 else 0.0

# %% wrong_summarize_infinite_pace, of right_summarize_dictionary_of_figures
# WRONG: an infinite pace where no gap takes time
# -     figures["tokens_per_second"] = len(gaps) / sum(gaps) if sum(gaps) > 0 else 0.0
# +     figures["tokens_per_second"] = len(gaps) / sum(gaps) if sum(gaps) > 0 else float("inf")

# %% wrong_summarize_mean_of_rates, of right_summarize_dictionary_of_figures
# WRONG: the mean of the rates instead of the rate of the sums
# -     figures["tokens_per_second"] = len(gaps) / sum(gaps) if sum(gaps) > 0 else 0.0
# +     figures["tokens_per_second"] = sum(len(t.itl) / sum(t.itl) if sum(t.itl) else 0.0 for t in traces) / len(traces)

# %% wrong_summarize_one_token_too_many, of right_summarize_dictionary_of_figures
# WRONG: the pace counts tokens instead of gaps
# -     figures["tokens_per_second"] = len(gaps) / sum(gaps) if sum(gaps) > 0 else 0.0
# +     figures["tokens_per_second"] = sum(len(t.token_times) for t in traces) / sum(gaps) if sum(gaps) > 0 else 0.0

# %% wrong_summarize_pace_raises_at_once, of right_summarize_dictionary_of_figures
# WRONG: divides by 0 where all tokens come at one time
# -     figures["tokens_per_second"] = len(gaps) / sum(gaps) if sum(gaps) > 0 else 0.0
# +     figures["tokens_per_second"] = len(gaps) / sum(gaps) if gaps else 0.0

# %% wrong_summarize_rate_with_ttft, of right_summarize_dictionary_of_figures
# WRONG: the pace has the wait for the first token in it
# -     figures["tokens_per_second"] = len(gaps) / sum(gaps) if sum(gaps) > 0 else 0.0
# +     figures["tokens_per_second"] = sum(len(t.token_times) for t in traces) / sum(t.e2e for t in traces) if any(t.e2e for t in traces) else 0.0

# %% wrong_summarize_wall_clock, of right_summarize_dictionary_of_figures
# WRONG: the throughput of the service reported as the pace of a stream
# -     figures["tokens_per_second"] = len(gaps) / sum(gaps) if sum(gaps) > 0 else 0.0
# +     figures["tokens_per_second"] = len(gaps) / (max(t.token_times[-1] for t in traces) - min(t.arrival for t in traces))

# %% wrong_summarize_span_by_place, of right_summarize_dictionary_of_figures
# WRONG: the span runs from the first trace of the list to its last, which need not be the first and last in time
# -     span = max(t.token_times[-1] for t in traces) - min(t.arrival for t in traces)
# +     span = traces[-1].token_times[-1] - traces[0].arrival

# %% wrong_summarize_span_from_first_token, of right_summarize_dictionary_of_figures
# WRONG: the span begins with the first token instead of the first arrival
# -     span = max(t.token_times[-1] for t in traces) - min(t.arrival for t in traces)
# +     span = max(t.token_times[-1] for t in traces) - min(t.token_times[0] for t in traces)

# %% wrong_summarize_span_from_zero, of right_summarize_dictionary_of_figures
# WRONG: the span begins at 0 on the clock instead of at the first arrival
# -     span = max(t.token_times[-1] for t in traces) - min(t.arrival for t in traces)
# +     span = max(t.token_times[-1] for t in traces)

# %% wrong_summarize_span_ends_at_zero, of right_summarize_dictionary_of_figures
# WRONG: the span ends at 0 on the clock if all tokens come before it
# -     span = max(t.token_times[-1] for t in traces) - min(t.arrival for t in traces)
# +     span = max(0.0, *(t.token_times[-1] for t in traces)) - min(t.arrival for t in traces)

# %% wrong_summarize_span_float32, of right_summarize_dictionary_of_figures
# WRONG: the span is a difference of float32 times
# SAYS: The span is computed in float32, which has no room for seconds since 1970.
# -     span = max(t.token_times[-1] for t in traces) - min(t.arrival for t in traces)
# +     import torch
# +     ends, arrivals = (torch.tensor(times).float() for times in ([t.token_times[-1] for t in traces], [t.arrival for t in traces]))
# +     span = (ends.max() - arrivals.min()).item()

# %% wrong_summarize_span_is_a_sum, of right_summarize_dictionary_of_figures
# WRONG: throughput over the seconds of all requests added up, though they run side by side
# -     span = max(t.token_times[-1] for t in traces) - min(t.arrival for t in traces)
# +     span = sum(t.e2e for t in traces)

# %% wrong_summarize_span_of_arrivals, of right_summarize_dictionary_of_figures
# WRONG: the span ends with the last arrival instead of the last token
# -     span = max(t.token_times[-1] for t in traces) - min(t.arrival for t in traces)
# +     span = max(t.arrival for t in traces) - min(t.arrival for t in traces)

# %% wrong_summarize_span_of_the_last_to_arrive, of right_summarize_dictionary_of_figures
# WRONG: the span ends with the last token of the request that arrived last
# -     span = max(t.token_times[-1] for t in traces) - min(t.arrival for t in traces)
# +     span = max(traces, key=lambda t: t.arrival).token_times[-1] - min(t.arrival for t in traces)

# %% wrong_summarize_span_raises, of right_summarize_dictionary_of_figures
# WRONG: divides by 0 where all happens at one instant
# -     figures["output_tokens_per_second"] = sum(len(t.token_times) for t in traces) / span if span > 0 else 0.0
# -     figures["requests_per_second"] = len(traces) / span if span > 0 else 0.0
# +     figures["output_tokens_per_second"] = sum(len(t.token_times) for t in traces) / span
# +     figures["requests_per_second"] = len(traces) / span

# %% wrong_summarize_throughput_counts_gaps, of right_summarize_dictionary_of_figures
# WRONG: throughput counts gaps, and so no first token
# -     figures["output_tokens_per_second"] = sum(len(t.token_times) for t in traces) / span if span > 0 else 0.0
# +     figures["output_tokens_per_second"] = len(gaps) / span if span > 0 else 0.0

# %% wrong_summarize_throughput_is_pace, of right_summarize_dictionary_of_figures
# WRONG: throughput reported as the pace of a stream
# -     figures["output_tokens_per_second"] = sum(len(t.token_times) for t in traces) / span if span > 0 else 0.0
# +     figures["output_tokens_per_second"] = figures["tokens_per_second"]

# %% wrong_summarize_requests_are_arrivals, of right_summarize_dictionary_of_figures
# WRONG: requests a second counted between the arrivals
# -     figures["requests_per_second"] = len(traces) / span if span > 0 else 0.0
# +     window = max(t.arrival for t in traces) - min(t.arrival for t in traces)
# +     figures["requests_per_second"] = len(traces) / window if window > 0 else 0.0

# %% wrong_summarize_no_p99, of right_summarize_dictionary_of_figures
# WRONG: the largest value taken for the 99th percentile
# -     return figures
# +     return figures | {"ttft_p99": max(ttfts), "itl_p99": max(gaps, default=0.0)}

# %% wrong_summarize_p90_for_p95, of right_summarize_dictionary_of_figures
# WRONG: the 90th percentile under the name of the 95th
# -     return figures
# +     return figures | {"ttft_p95": percentile(ttfts, 90), "itl_p95": percentile(gaps, 90) if gaps else 0.0}

# %% wrong_summarize_rounded_rates, of right_summarize_dictionary_of_figures
# WRONG: the rates are rounded to two decimals
# -     return figures
# +     return {name: round(value, 2) if name.endswith("second") else value for name, value in figures.items()}

# %% wrong_summarize_rounded_to_microseconds, of right_summarize_dictionary_of_figures
# WRONG: every figure is rounded to six decimals
# -     return figures
# +     return {name: round(value, 6) for name, value in figures.items()}

# %% wrong_summarize_whole_rates, of right_summarize_dictionary_of_figures
# WRONG: requests a second are a whole number
# -     return figures
# +     return figures | {"requests_per_second": figures["requests_per_second"] // 1}

# %% wrong_summarize_mean_of_percentiles, of right_summarize_dictionary_of_figures
# WRONG: the percentiles of ITL are taken for each request, and their mean is the figure
# -     figures |= {f"itl_p{q}": percentile(gaps, q) if gaps else 0.0 for q in (50, 95, 99)}
# +     several = [t.itl for t in traces if t.itl]
# +     figures |= {f"itl_p{q}": sum(percentile(itl, q) for itl in several) / max(len(several), 1) for q in (50, 95, 99)}

# %% wrong_summarize_pours_times_together, of right_summarize_dictionary_of_figures
# WRONG: all times are added to the list of the first trace, which is the caller's
# -     span = max(t.token_times[-1] for t in traces) - min(t.arrival for t in traces)
# -     figures["output_tokens_per_second"] = sum(len(t.token_times) for t in traces) / span if span > 0 else 0.0
# +     times = traces[0].token_times
# +     for t in traces[1:]:
# +         times += t.token_times
# +     span = max(times) - min(t.arrival for t in traces)
# +     figures["output_tokens_per_second"] = len(times) / span if span > 0 else 0.0


# %% wrong_summarize_no_rate_where_the_end_is_zero, of right_summarize_plain
# WRONG: a service whose last token comes when the clock shows 0 has no rate
# -     figures["output_tokens_per_second"] = tokens / seconds if seconds else 0.0
# +     figures["output_tokens_per_second"] = tokens / seconds if seconds and max(ends) else 0.0


# %% wrong_summarize_equal_requests_once, of right_summarize_plain
# WRONG: requests with the same times count once
# -     for t in traces:
# +     traces = [t for number, t in enumerate(traces) if t not in traces[:number]]
# +     for t in traces:


# %% wrong_summarize_one_dict_for_all_calls, of right_summarize_plain
# WRONG: every call fills and returns the same dict: the figures of an earlier call change
# -     figures = {}
# +     figures = vars(summarize).setdefault("figures", {})
