# exercise: entropy
# RIGHT: row by row with math.fsum
import math

def entropy(probs):
    rows = probs.reshape(-1, probs.shape[-1]).tolist()
    sums = [-math.fsum(p * math.log(p) for p in row if p > 0.0) for row in rows]
    return torch.tensor(sums, dtype=probs.dtype).reshape(probs.shape[:-1])
