# exercise: summarize
# WRONG: all tokens in one line: gaps from one request to the next
def summarize(traces):
    ttfts = [t.ttft for t in traces]
    gaps = [b - a for a, b in zip(sorted(x for t in traces for x in t.token_times), sorted(x for t in traces for x in t.token_times)[1:])]
    figures = {f"ttft_p{q}": percentile(ttfts, q) for q in (50, 95, 99)}
    figures.update({f"itl_p{q}": percentile(gaps, q) for q in (50, 95, 99)})
    figures["tokens_per_second"] = len(gaps) / sum(gaps)
    return figures
