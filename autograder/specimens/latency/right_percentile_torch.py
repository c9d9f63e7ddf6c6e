# exercise: percentile
# RIGHT: torch.quantile in float64
import torch
def percentile(values, q):
    if len(values) == 0 or not (q >= 0 and q <= 100):
        raise ValueError("no values, or no percentile", q)
    return torch.quantile(torch.tensor(values, dtype=torch.float64), q / 100).item()
