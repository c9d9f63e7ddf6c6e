# exercise: softmax
# RIGHT: lists and the math module
import math

def softmax(logits):
    rows = logits.reshape(-1, logits.shape[-1]).tolist()
    out = []
    for row in rows:
        top = max(row)
        e = [math.exp(v - top) for v in row]
        total = math.fsum(e)
        out.append([v / total for v in e])
    return torch.tensor(out, dtype=torch.float64).reshape(logits.shape).to(logits.dtype)
