# exercise: goodput
# WRONG: never more than one request a second
def goodput(traces, ttft_slo, itl_slo):
    if not traces:
        raise ValueError("no traces")
    kept = [t.ttft <= ttft_slo and all(g <= itl_slo for g in t.itl) for t in traces]
    span = max(t.token_times[-1] for t in traces) - min(t.arrival for t in traces)
    return min(sum(kept) / span, 1.0) if span > 0 else 0.0
