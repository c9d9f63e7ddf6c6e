# exercise: summarize
# WRONG: mean of rates instead of rate of sums
def summarize(traces):
    ttfts = [t.ttft for t in traces]
    gaps = [g for t in traces for g in t.itl]
    figures = {f"ttft_p{q}": percentile(ttfts, q) for q in (50, 95, 99)}
    figures.update({f"itl_p{q}": percentile(gaps, q) for q in (50, 95, 99)})
    figures["tokens_per_second"] = sum(len(t.itl) / sum(t.itl) for t in traces) / len(traces)
    return figures
