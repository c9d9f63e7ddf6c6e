# exercise: summarize
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
