# exercise: greedy_sample
# RIGHT: numpy argmax

import numpy as np


def greedy_sample(logits):
    ids = np.argmax(logits.detach().cpu().numpy(), axis=1)
    return torch.from_numpy(ids.astype(np.int64)).reshape(-1, 1)
