# exercise: goodput
# WRONG: only TTFT is looked at
def goodput(traces, ttft_slo, itl_slo):
    kept = sum(1 for t in traces if t.ttft <= ttft_slo)
    return kept / len(traces)
