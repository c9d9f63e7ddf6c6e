# exercise: summarize
# WRONG: the wait for the first token counted among the gaps
def summarize(traces):
    ttfts = [t.ttft for t in traces]
    gaps = [g for t in traces for g in [t.ttft, *t.itl]]
    figures = {f"ttft_p{q}": percentile(ttfts, q) for q in (50, 95, 99)}
    figures.update({f"itl_p{q}": percentile(gaps, q) for q in (50, 95, 99)})
    figures["tokens_per_second"] = len(gaps) / sum(gaps)
    return figures
