"""Samplers: from the logits of one step to the next token.

A distribution is made first, with no randomness in it; one number between 0 and 1 then picks a token from it.
"""

import torch
from torch import Tensor

from solutions.softmax import softmax


def at_least_float32(x: Tensor) -> Tensor:
    """Return x in float32, unless it has more digits than that: half precision is for weights, not for a sum of 49,152 numbers."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


def greedy_sample(logits: Tensor) -> Tensor:
    """Return the token with the highest logit, for each row, however small its lead.

    logits (B, V) -> token ids (B, 1), int64. Uses no randomness.
    """
    ### BEGIN SOLUTION
    return logits.argmax(dim=-1, keepdim=True)
    ### END SOLUTION


def temperature_probs(logits: Tensor, tau: float) -> Tensor:
    """Return the probabilities after every logit has been divided by the temperature.

    logits (B, V) -> probs (B, V), in float32 at least (half precision is raised before anything is
    computed, float64 stays), on the device of the logits. tau = 0 means greedy: all of the probability
    on the best token, however small its lead. Raises ValueError, naming tau, if tau < 0. The input is not changed.
    """
    ### BEGIN SOLUTION
    if tau < 0:
        raise ValueError(f"temperature must be 0 or more, got {tau}")
    logits = at_least_float32(logits)
    if tau == 0:
        return torch.zeros_like(logits).scatter(-1, greedy_sample(logits), 1.0)
    return softmax(logits / tau)
    ### END SOLUTION


def top_k_probs(logits: Tensor, k: int) -> Tensor:
    """Return the probabilities of the k highest logits, renormalised; every other token gets exactly 0.

    logits (B, V) -> probs (B, V), in float32 at least, on their device. Tokens whose logit equals the k-th
    are kept too; k >= V keeps everything. Raises ValueError, naming k, if k < 1. The input is not changed. Fan et al. 2018.
    """
    ### BEGIN SOLUTION
    if k < 1:
        raise ValueError(f"top_k must be 1 or more, got {k}")
    logits = at_least_float32(logits)
    k = min(k, logits.shape[-1])
    kth_logit = logits.topk(k, dim=-1).values[:, -1:]  # (B, 1): each row has its own threshold
    return softmax(logits.masked_fill(logits < kth_logit, float("-inf")))
    ### END SOLUTION


def top_p_probs(logits: Tensor, p: float) -> Tensor:
    """Return the nucleus distribution: the smallest set of tokens whose probability reaches p, renormalised.

    logits (B, V) -> probs (B, V), in float32 at least, on their device, exactly 0 outside the nucleus. The
    token that crosses p is kept; where the mass is exactly p, nothing more is; p = 1 keeps everything. Raises
    ValueError unless 0 < p <= 1. The input is not changed. Holtzman et al. 2020, section 3.1.
    """
    ### BEGIN SOLUTION
    if not 0 < p <= 1:
        raise ValueError(f"top_p must be in (0, 1], got {p}")
    probs = softmax(at_least_float32(logits))
    if p == 1:
        return probs  # a rounded running sum can reach 1 before the last token does
    sorted_probs, token_ids = probs.sort(dim=-1, descending=True)
    mass_before = sorted_probs.cumsum(dim=-1) - sorted_probs  # gathered by the more probable tokens
    nucleus = sorted_probs.masked_fill(mass_before >= p, 0.0)
    nucleus = nucleus / nucleus.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, token_ids, nucleus)  # back to the order of the ids
    ### END SOLUTION


def draw(probs: Tensor, u: Tensor) -> Tensor:
    """Return the token at u on the cumulative scale: the first whose cumulative probability exceeds u.

    probs (B, V), u (B, 1) in [0, 1) -> token ids (B, 1), int64. A token of probability 0 is never drawn,
    even where rounding leaves the whole sum below u. The sums are made in float32 at least. u of shape
    (B,) is taken too. The inputs are not changed.
    """
    ### BEGIN SOLUTION
    cumulative = at_least_float32(probs).cumsum(dim=-1)
    cumulative = cumulative / cumulative[:, -1:]  # so that it ends at exactly 1, whatever rounding did
    return (cumulative <= u.reshape(-1, 1)).sum(dim=-1, keepdim=True)
    ### END SOLUTION


def temperature_sample(logits: Tensor, tau: float, generator: torch.Generator | None = None) -> Tensor:
    """Draw one token for each row from `temperature_probs(logits, tau)`.

    logits (B, V) -> token ids (B, 1), int64. Randomness comes from the generator, or from torch's
    global state if there is none, on the device of the logits; tau = 0 uses no randomness. Raises ValueError, naming tau, if tau < 0.
    """
    ### BEGIN SOLUTION
    if tau == 0:
        return greedy_sample(logits)
    probs = temperature_probs(logits, tau)
    return draw(probs, torch.rand(len(probs), 1, generator=generator, device=probs.device))
    ### END SOLUTION


def top_k_sample(logits: Tensor, k: int, generator: torch.Generator | None = None) -> Tensor:
    """Draw one token for each row from `top_k_probs(logits, k)`.

    logits (B, V) -> token ids (B, 1), int64. Randomness as in `temperature_sample`.
    Raises ValueError, naming k, if k < 1.
    """
    ### BEGIN SOLUTION
    probs = top_k_probs(logits, k)
    return draw(probs, torch.rand(len(probs), 1, generator=generator, device=probs.device))
    ### END SOLUTION


def top_p_sample(logits: Tensor, p: float, generator: torch.Generator | None = None) -> Tensor:
    """Draw one token for each row from `top_p_probs(logits, p)`.

    logits (B, V) -> token ids (B, 1), int64. Randomness as in `temperature_sample`.
    Raises ValueError, naming p, unless 0 < p <= 1.
    """
    ### BEGIN SOLUTION
    probs = top_p_probs(logits, p)
    return draw(probs, torch.rand(len(probs), 1, generator=generator, device=probs.device))
    ### END SOLUTION


def sample_next_token(
    logits: Tensor,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Draw the next token of each row: temperature, then top-k, then top-p, then the draw.

    logits (B, V) -> token ids (B, 1), int64. None switches a filter off; each filter works on the
    renormalised result of the one before it. Randomness and errors as in the samplers above, whatever
    the other settings are; temperature 0 uses no randomness.
    """
    ### BEGIN SOLUTION
    probs = temperature_probs(logits, temperature)
    if top_k is not None:
        probs = top_k_probs(probs.log(), top_k)  # the logarithms of probabilities are logits again
    if top_p is not None:
        probs = top_p_probs(probs.log(), top_p)
    if temperature == 0:
        return greedy_sample(probs)
    return draw(probs, torch.rand(len(probs), 1, generator=generator, device=probs.device))
    ### END SOLUTION
