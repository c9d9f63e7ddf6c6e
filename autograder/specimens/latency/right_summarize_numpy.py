# exercise: summarize
# RIGHT: numpy throughout
import numpy as np


def summarize(traces):
    if len(traces) == 0:
        raise ValueError("nothing to summarize")
    first = np.array([t.token_times[0] - t.arrival for t in traces])
    gaps = np.concatenate([np.diff(t.token_times) for t in traces])
    names = (50, 95, 99)
    out = {f"ttft_p{q}": float(v) for q, v in zip(names, np.percentile(first, names))}
    out |= {f"itl_p{q}": float(np.percentile(gaps, q)) if gaps.size else 0.0 for q in names}
    pace = float(gaps.size / gaps.sum()) if gaps.sum() else 0.0
    begin, end = min(t.arrival for t in traces), max(t.token_times[-1] for t in traces)
    counts = np.array([sum(len(t.token_times) for t in traces), len(traces)], dtype=float)
    tokens, requests = (counts / (end - begin) if end > begin else 0 * counts).tolist()
    return out | {"tokens_per_second": pace, "output_tokens_per_second": tokens, "requests_per_second": requests}
