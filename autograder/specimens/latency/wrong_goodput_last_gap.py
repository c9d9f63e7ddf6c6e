# exercise: goodput
# WRONG: only the last gap is looked at
def goodput(traces, ttft_slo, itl_slo):
    kept = sum(1 for t in traces if t.ttft <= ttft_slo and t.itl[-1] <= itl_slo)
    return kept / len(traces)
