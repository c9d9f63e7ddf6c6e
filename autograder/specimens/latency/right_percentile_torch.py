# exercise: percentile
# RIGHT: torch.quantile in float64
import torch
def percentile(values, q):
    return torch.quantile(torch.tensor(values, dtype=torch.float64), q / 100).item()
