# exercise: goodput
# WRONG: only the gaps are looked at
def goodput(traces, ttft_slo, itl_slo):
    kept = sum(1 for t in traces if max(t.itl) <= itl_slo)
    return kept / len(traces)
