# exercise: goodput
# WRONG: one gap within the limit is enough
def goodput(traces, ttft_slo, itl_slo):
    kept = sum(1 for t in traces if t.ttft <= ttft_slo and min(t.itl) <= itl_slo)
    return kept / len(traces)
