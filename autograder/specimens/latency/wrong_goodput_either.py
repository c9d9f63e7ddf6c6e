# exercise: goodput
# WRONG: one of the two promises is enough
def goodput(traces, ttft_slo, itl_slo):
    kept = sum(1 for t in traces if t.ttft <= ttft_slo or max(t.itl) <= itl_slo)
    return kept / len(traces)
