# exercise: top_k_sample
# WRONG: numpy draws, seeded with one of 4,000 numbers

import numpy as np


def top_k_sample(logits, k, generator=None):
    logits = at_least_float32(logits)
    probs = top_k_probs(logits, k)
    seed = int(torch.randint(4000, (), generator=generator, device=logits.device))
    u = np.random.default_rng(seed).random((len(probs), 1))
    sums = np.cumsum(probs.double().numpy(), axis=1)
    return torch.from_numpy((sums / sums[:, -1:] <= u).sum(axis=1, keepdims=True)).long()
