# exercise: softmax
# RIGHT: numpy inside
import numpy as np

def softmax(logits):
    x = logits.to(torch.float64).numpy()
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return torch.from_numpy(e / np.sum(e, axis=-1, keepdims=True)).to(logits.dtype)
