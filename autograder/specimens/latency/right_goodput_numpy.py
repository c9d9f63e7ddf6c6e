# exercise: goodput
# RIGHT: numpy over arrays of figures
import numpy as np


def goodput(traces, ttft_slo, itl_slo):
    if len(traces) < 1:
        raise ValueError(f"no requests in {traces}")
    ok = [(t.ttft <= ttft_slo) and bool((np.array(t.itl) <= itl_slo).all()) for t in traces]
    begin = np.min([t.arrival for t in traces])
    end = np.max(np.concatenate([t.token_times for t in traces]))
    return float(np.sum(ok) / (end - begin)) if end > begin else 0.0
