# exercise: goodput
# WRONG: only the last gap is looked at
def goodput(traces, ttft_slo, itl_slo):
    if not traces:
        raise ValueError("no traces")
    kept = [t.ttft <= ttft_slo and (not t.itl or t.itl[-1] <= itl_slo) for t in traces]
    span = max(t.token_times[-1] for t in traces) - min(t.arrival for t in traces)
    return sum(kept) / span if span > 0 else 0.0
