# exercise: goodput
# WRONG: the span runs from the first trace of the list to its last, which need not be the first and last in time
def goodput(traces, ttft_slo, itl_slo):
    if not traces:
        raise ValueError("no traces")
    kept = [t.ttft <= ttft_slo and all(g <= itl_slo for g in t.itl) for t in traces]
    span = traces[-1].token_times[-1] - traces[0].arrival
    return sum(kept) / span if span > 0 else 0.0
