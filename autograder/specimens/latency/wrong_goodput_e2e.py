# exercise: goodput
# WRONG: end-to-end latency held against the TTFT limit
def goodput(traces, ttft_slo, itl_slo):
    kept = sum(1 for t in traces if t.e2e <= ttft_slo and max(t.itl) <= itl_slo)
    return kept / len(traces)
