# exercise: goodput
# WRONG: the two limits are swapped
def goodput(traces, ttft_slo, itl_slo):
    kept = sum(1 for t in traces if t.ttft <= itl_slo and max(t.itl) <= ttft_slo)
    return kept / len(traces)
