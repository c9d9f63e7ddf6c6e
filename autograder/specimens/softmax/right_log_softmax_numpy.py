# exercise: log_softmax
# RIGHT: numpy's logaddexp over the row, in float64
import numpy as np

def log_softmax(logits):
    x = logits.double().numpy()
    total = np.logaddexp.reduce(x, axis=-1, keepdims=True)
    return torch.as_tensor(x - total).to(logits.dtype)
