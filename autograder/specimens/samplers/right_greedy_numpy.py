# exercise: greedy_sample
# RIGHT: numpy argmax, in float64

import numpy as np


def greedy_sample(logits):
    ids = np.argmax(logits.detach().cpu().double().numpy(), axis=1)
    return torch.from_numpy(ids.astype(np.int64)).reshape(-1, 1)
