# exercise: goodput
# RIGHT: no gap over the limit
def goodput(traces, ttft_slo, itl_slo):
    kept = sum(1 for t in traces if not (t.ttft > ttft_slo or any(g > itl_slo for g in t.itl)))
    return kept / len(traces)
