"""Speculative decoding: something cheap guesses the next tokens, and one pass of the model checks all guesses.

The weights are read once for several tokens, and nothing is approximated: greedy tokens stay the same tokens, and drawn ones keep
their distribution, however bad the guesses are. Leviathan et al. 2023; Chen et al. 2023.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from course.kit import WeightsOnly
from solutions.kv_cache import KVCache, forward_cached
from solutions.samplers import draw, temperature_probs, top_k_probs, top_p_probs

Draft = Callable[[list[int], int], tuple[list[int], Tensor | None]]
"""draft(ids, k) -> (tokens, q): at most k tokens to follow ids, and what each was drawn from (len(tokens), V), or None: it was certain."""


def filtered_probs(logits: Tensor, *, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None) -> Tensor:
    """Return what `sample_next_token` draws from: temperature, then top-k, then top-p, each on the renormalised result of the one before.

    logits (T, V) -> probs (T, V), float64 for float64 and float32 otherwise; every row sums to 1. None switches a filter off.
    Temperature 0 puts all of the probability on the best token. Raises ValueError as the samplers do, naming the value, whatever the
    other settings are. The input is not changed.
    """
    ### BEGIN SOLUTION
    probs = temperature_probs(logits, temperature)
    if top_k is not None:
        probs = top_k_probs(probs.log(), top_k)  # the logarithms of probabilities are logits again
    if top_p is not None:
        probs = top_p_probs(probs.log(), top_p)
    return probs
    ### END SOLUTION


def lookup_draft(ids: list[int], *, max_ngram: int = 3, k: int = 4) -> list[int]:
    """Guess that the text repeats itself: return what followed the last time that its newest tokens occurred, at most k tokens.

    The longest suffix that occurs earlier counts, of max_ngram tokens down to 1, and of its occurrences the latest. It may overlap the
    suffix, and so may what followed it, which ends where ids end. [] if not even the last token occurs earlier. ids is not changed.
    """
    ### BEGIN SOLUTION
    for n in range(min(max_ngram, len(ids) - 1), 0, -1):
        suffix = ids[-n:]
        for start in range(len(ids) - n - 1, -1, -1):  # one place further right is the suffix itself
            if ids[start : start + n] == suffix:
                return ids[start + n : start + n + k]
    return []
    ### END SOLUTION


def greedy_verify(logits: Tensor, draft: Tensor) -> list[int]:
    """Return the tokens that greedy decoding would have made, as far as one pass tells: 1 to k + 1 of them.

    logits (k + 1, V) of any memory layout, compared in their own dtype: row i comes before draft[i], the last one after the whole
    draft. draft (k,) int64. Its tokens are kept as long as each is the argmax of its row; then comes the argmax of the first row where it
    is not, or, if all are kept, the argmax of the last row.
    """
    ### BEGIN SOLUTION
    best = logits.argmax(dim=-1)  # (k + 1,)
    kept = int((best[:-1] == draft).cumprod(dim=0).sum())
    return best[: kept + 1].tolist()
    ### END SOLUTION


def acceptance_probs(p: Tensor, q: Tensor) -> Tensor:
    """Return how likely each token is kept if the draft proposes it: the largest chance that gives it no more than its probability in p.

    p, q (..., V), of the model and of the draft, of any memory layout -> (..., V), same dtype. 1 where q is 0: such a token is never
    proposed. No nan, no inf. The inputs are not changed.
    """
    ### BEGIN SOLUTION
    return torch.where(q > 0, (p / q).clamp(max=1.0), 1.0)
    ### END SOLUTION


def residual_probs(p: Tensor, q: Tensor) -> Tensor:
    """Return the distribution from which a refused token's replacement is drawn: the part of p above q, renormalised.

    p, q (..., V) -> (..., V), same dtype; exactly 0 wherever p <= q. But if a row of p is nowhere above q's, the result is that row of p.
    The inputs are not changed.
    """
    ### BEGIN SOLUTION
    lacking = (p - q).clamp(min=0.0)
    total = lacking.sum(dim=-1, keepdim=True)
    return torch.where(total > 0, lacking / total, p)
    ### END SOLUTION


def verify_sampled(p: Tensor, q: Tensor, draft: Tensor, u: Tensor) -> list[int]:
    """Return tokens with the distribution of the model, made from a draft with another one: 1 to k + 1 of them.

    p (k + 1, V): row i comes before draft[i], the last one after the whole draft. q (k, V): what draft (k,) int64 was drawn from.
    u (k + 1,) in [0, 1). None of them is changed or rounded to another dtype, and p and q need not be contiguous. Token i is kept if u[i] <
    acceptance_probs(p[i], q[i])[draft[i]]. The first that is not is replaced by a draw from residual_probs(p[i], q[i]) at u[k], and nothing
    comes after it. If all are kept, a draw from p[k] at u[k] comes after them.
    """
    ### BEGIN SOLUTION
    k = len(draft)
    accepted = acceptance_probs(p[:k], q).gather(1, draft.unsqueeze(1)).squeeze(1)  # (k,)
    kept = int((u[:k] < accepted).cumprod(dim=0).sum())
    last = p[k] if kept == k else residual_probs(p[kept], q[kept])
    return [*draft[:kept].tolist(), int(draw(last.unsqueeze(0), u[k:]))]
    ### END SOLUTION


def expected_tokens(alpha: float, k: int) -> float:
    """Return how many tokens a pass makes on average if each of k guesses is kept with probability alpha, independently.

    A float, at alpha 1, too. Raises ValueError, naming the value, unless 0 <= alpha <= 1 (nan is not) and k >= 0.
    """
    ### BEGIN SOLUTION
    if not 0 <= alpha <= 1:
        raise ValueError(f"alpha must be in [0, 1], got {alpha}")
    if k < 0:
        raise ValueError(f"k must be 0 or more, got {k}")
    return float(sum(alpha**i for i in range(k + 1)))  # guess i is kept if it and all before it are
    ### END SOLUTION


def speedup(alpha: float, k: int, cost_ratio: float) -> float:
    """Return the ratio of tokens per second to plain decoding, if a pass over k + 1 tokens takes as long as a decode step.

    cost_ratio: time for one token of the draft over time for one pass of the model. If the result is below 1, speculation loses. Raises
    ValueError as `expected_tokens` does.
    """
    ### BEGIN SOLUTION
    return expected_tokens(alpha, k) / (k * cost_ratio + 1)
    ### END SOLUTION


def truncate(cache: KVCache, length: int) -> None:
    """Forget all tokens of the cache but the first `length`, in every layer, whatever it holds. Nothing is copied and nothing is zeroed.

    The slots are overwritten by what comes next. Raises ValueError, naming length, and changes nothing, unless 0 <= length <=
    cache.length.
    """
    ### BEGIN SOLUTION
    if not 0 <= length <= cache.length:
        raise ValueError(f"length must be from 0 to the cache's {cache.length}, got {length}")
    cache.counts = [length] * len(cache.counts)
    ### END SOLUTION


def generate_speculative(
    model: WeightsOnly,
    idx: Tensor,
    *,
    max_new_tokens: int,
    block_size: int,
    draft: Draft,
    k: int = 4,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    eos_token_id: int | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Return the text of `generate_cached`, several tokens a pass: the same greedy tokens, the same distribution of drawn ones.

    model: an object with .config and .weights. idx (1, T) int64 -> (1, T+n), n <= max_new_tokens; the EOS is the last token if it comes.
    A prefill makes the first token. Then in each round `draft` is asked with the whole text so far, and one pass reads the newest token
    and the guesses. `draft` is asked for 1 to k tokens, at most min(k, tokens left - 1, block_size - len(text)); if that leaves none,
    and whenever it guesses nothing, the round is a plain decode step; the next round asks it again. Past block_size the window slides,
    one token a pass, as in `generate_cached`. After a round the cache holds the text but its newest token.

    q of `draft` is what its tokens were drawn from, filtered if the draft filters; if it is None, they were certain. p is filtered before
    it is compared. Raises ValueError for a guess outside the vocabulary, naming it, and for settings that `filtered_probs` refuses, at
    temperature 0, too. All random numbers come from the generator, or from torch's global state if there is none; temperature 0 uses
    none. No gradient is recorded, the caller's gradient mode is left as it was, idx is not changed.
    """
    ### BEGIN SOLUTION
    ids = idx[0].tolist()
    goal = len(ids) + max_new_tokens
    cache = KVCache(model.config, 1, min(block_size, goal), model.weights.embed_tokens.dtype, idx.device)
    with torch.no_grad():
        while len(ids) < goal:
            if len(ids) > block_size:
                cache.reset()
            room = min(k, goal - len(ids) - 1, block_size - len(ids)) if cache.length else 0
            guess, q = draft(list(ids), room) if room > 0 else ([], None)
            for token in guess:
                if not 0 <= token < model.config.vocab_size:
                    raise ValueError(f"the draft guessed {token}, which is not in the vocabulary of {model.config.vocab_size} tokens")
            fed = ids[-block_size:][cache.length :] + guess  # the prompt, or a slid window, or the newest token
            logits = forward_cached(model, torch.tensor([fed], device=idx.device), cache)[0, -len(guess) - 1 :]  # (k + 1, V)

            p = filtered_probs(logits, temperature=temperature, top_k=top_k, top_p=top_p)
            guessed = torch.tensor(guess, dtype=torch.int64, device=idx.device)
            if temperature == 0:
                new = greedy_verify(p, guessed)
            else:
                certain = torch.nn.functional.one_hot(guessed, p.shape[-1])
                u = torch.rand(len(guess) + 1, generator=generator, device=idx.device)
                new = verify_sampled(p, (certain if q is None else q).to(p), guessed, u)
            if eos_token_id in new:
                ids += new[: new.index(eos_token_id) + 1]
                break
            ids += new
            truncate(cache, cache.length - (len(guess) + 1 - len(new)))  # the guesses that were refused
    return torch.tensor([ids], device=idx.device)
    ### END SOLUTION
