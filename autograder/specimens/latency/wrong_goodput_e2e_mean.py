# exercise: goodput
# WRONG: the mean time of a token, TTFT included, held against the limit for gaps
def goodput(traces, ttft_slo, itl_slo):
    if not traces:
        raise ValueError("no traces")
    kept = [t.ttft <= ttft_slo and t.e2e / len(t.token_times) <= itl_slo for t in traces]
    span = max(t.token_times[-1] for t in traces) - min(t.arrival for t in traces)
    return sum(kept) / span if span > 0 else 0.0
