# exercise: softmax
# WRONG: in place on the numpy view of a float64 tensor, which shares its memory
import numpy as np

def softmax(logits):
    x = logits.to(torch.float64).numpy()
    x -= x.max(axis=-1, keepdims=True)
    np.exp(x, out=x)
    return torch.from_numpy(x / x.sum(axis=-1, keepdims=True)).to(logits.dtype)
