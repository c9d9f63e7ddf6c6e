# exercise: goodput
# WRONG: the limit itself breaks the promise
def goodput(traces, ttft_slo, itl_slo):
    kept = sum(1 for t in traces if t.ttft < ttft_slo and max(t.itl) < itl_slo)
    return kept / len(traces)
