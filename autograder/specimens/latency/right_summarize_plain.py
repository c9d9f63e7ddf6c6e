# exercise: summarize
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
