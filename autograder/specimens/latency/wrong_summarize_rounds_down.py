# exercise: summarize
# WRONG: percentile by rounding down
def summarize(traces):
    def p(values, q):
        return sorted(values)[int(q / 100 * (len(values) - 1))]
    ttfts = [t.ttft for t in traces]
    gaps = [g for t in traces for g in t.itl]
    out = {f"ttft_p{q}": p(ttfts, q) for q in (50, 95, 99)} | {f"itl_p{q}": p(gaps, q) for q in (50, 95, 99)}
    return out | {"tokens_per_second": len(gaps) / sum(gaps)}
