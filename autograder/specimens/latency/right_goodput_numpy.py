# exercise: goodput
# RIGHT: numpy over arrays of figures
import numpy as np
def goodput(traces, ttft_slo, itl_slo):
    ok = [(t.ttft <= ttft_slo) and bool((np.array(t.itl) <= itl_slo).all()) for t in traces]
    return float(np.mean(ok))
