# exercise: entropy
# RIGHT: numpy, with a mask for the logarithm
import numpy as np

def entropy(probs):
    p = probs.double().numpy()
    logs = np.log(p, out=np.zeros_like(p), where=p > 0)
    return torch.as_tensor(-(p * logs).sum(axis=-1)).to(probs.dtype)
