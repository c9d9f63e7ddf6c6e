# exercise: entropy
# RIGHT: in bits, converted to nats, from float64
import math

def entropy(probs):
    p = probs.double()
    bits = torch.where(p == 0, 0.0, -p * p.log2())
    return (bits.sum(-1) * math.log(2)).to(probs.dtype)
