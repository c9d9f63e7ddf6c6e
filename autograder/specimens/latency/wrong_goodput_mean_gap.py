# exercise: goodput
# WRONG: the mean gap decides
def goodput(traces, ttft_slo, itl_slo):
    kept = sum(1 for t in traces if t.ttft <= ttft_slo and t.tpot <= itl_slo)
    return kept / len(traces)
