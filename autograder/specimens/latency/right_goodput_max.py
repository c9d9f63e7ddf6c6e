# exercise: goodput
# RIGHT: the largest gap decides
def goodput(traces, ttft_slo, itl_slo):
    kept = sum(1 for t in traces if t.ttft <= ttft_slo and max(t.itl, default=0.0) <= itl_slo)
    return kept / len(traces)
