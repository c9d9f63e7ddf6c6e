# exercise: goodput
# RIGHT: the largest gap decides
def goodput(traces, ttft_slo, itl_slo):
    kept = sum(1 for t in traces if t.ttft <= ttft_slo and max(t.itl, default=0.0) <= itl_slo)
    seconds = max(t.token_times[-1] for t in traces) - min(t.arrival for t in traces)
    return kept / seconds if seconds else 0.0
