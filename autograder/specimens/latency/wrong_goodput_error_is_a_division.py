# exercise: goodput
# WRONG: a ZeroDivisionError for no traces, where a ValueError is due
def goodput(traces, ttft_slo, itl_slo):
    kept = [t.ttft <= ttft_slo and all(g <= itl_slo for g in t.itl) for t in traces]
    span = max((t.token_times[-1] for t in traces), default=0.0) - min((t.arrival for t in traces), default=0.0)
    return sum(kept) / span
