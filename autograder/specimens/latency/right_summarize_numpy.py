# exercise: summarize
# RIGHT: numpy throughout
import numpy as np
def summarize(traces):
    first = np.array([t.token_times[0] - t.arrival for t in traces])
    gaps = np.concatenate([np.diff(t.token_times) for t in traces])
    names = (50, 95, 99)
    out = {f"ttft_p{q}": float(v) for q, v in zip(names, np.percentile(first, names))}
    out |= {f"itl_p{q}": float(v) for q, v in zip(names, np.percentile(gaps, names))}
    return out | {"tokens_per_second": float(len(gaps) / gaps.sum())}
