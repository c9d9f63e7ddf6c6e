# exercise: summarize
# WRONG: gaps over the whole time, TTFT included
def summarize(traces):
    ttfts = [t.ttft for t in traces]
    gaps = [g for t in traces for g in t.itl]
    figures = {f"ttft_p{q}": percentile(ttfts, q) for q in (50, 95, 99)}
    figures.update({f"itl_p{q}": percentile(gaps, q) for q in (50, 95, 99)})
    figures["tokens_per_second"] = len(gaps) / sum(t.e2e for t in traces)
    return figures
