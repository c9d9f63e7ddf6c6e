"""From scores to probabilities: softmax, its logarithm, and how unsure the result is."""

import torch
from torch import Tensor


def softmax(logits: Tensor) -> Tensor:
    """Return probabilities from logits, over the last dimension.

    logits (..., V) -> probs (..., V), of the same dtype and computed in no coarser one; every row sums to 1. An entry of -inf
    gets exactly 0. Logits of any size are safe, each row by itself. The input is not changed.
    """
    ### BEGIN SOLUTION
    shifted = logits - logits.amax(dim=-1, keepdim=True)  # the largest is 0: no exponential exceeds 1
    weights = shifted.exp()
    return weights / weights.sum(dim=-1, keepdim=True)
    ### END SOLUTION


def log_softmax(logits: Tensor) -> Tensor:
    """Return the natural logarithms of the probabilities, over the last dimension, without going through the probabilities.

    logits (..., V) -> log_probs (..., V), of the same dtype and computed in no coarser one; finite where the logit is finite,
    however small the probability, and exact to the rounding of the logits; an entry of -inf stays -inf. The input is not changed.
    """
    ### BEGIN SOLUTION
    shifted = logits - logits.amax(dim=-1, keepdim=True)
    log_total = shifted.exp().sum(dim=-1, keepdim=True).log()
    return shifted - log_total
    ### END SOLUTION


def entropy(probs: Tensor) -> Tensor:
    """Return the average surprisal in nats: how unsure a distribution is.

    probs (..., V) -> entropy (...), as precise as probs: 0 when one entry holds everything, ln V when all V are equal.
    A probability of 0 adds nothing: 0 log 0 = 0. The input is not changed. Shannon 1948, section 6.
    """
    ### BEGIN SOLUTION
    surprisal = -probs.log()
    terms = torch.where(probs > 0, probs * surprisal, 0)
    return terms.sum(dim=-1)
    ### END SOLUTION
