"""Steering and stopping: what may be said next, what has been said too often, and when enough is said.

Everything here works outside the model: it changes the scores after they are made, or the text after it is drawn.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from solutions.softmax import entropy, log_softmax, softmax


def min_p_probs(logits: Tensor, min_p: float) -> Tensor:
    """Return the probabilities of the tokens that reach a share of the best one's probability, renormalised.

    logits (B, V) -> probs (B, V). In each row a token is kept if its probability is at least min_p times the row's
    highest; every other token gets exactly 0. min_p = 0 keeps everything, min_p = 1 only the best token (and its ties).
    float64 logits give float64, all others float32. Raises ValueError unless 0 <= min_p <= 1.
    The input is not changed. Nguyen et al. 2024.
    """
    ### BEGIN SOLUTION
    if not 0 <= min_p <= 1:
        raise ValueError(f"min_p must be in [0, 1], got {min_p}")
    probs = softmax(logits.to(torch.promote_types(logits.dtype, torch.float32)))
    threshold = min_p * probs.amax(dim=-1, keepdim=True)  # (B, 1): high where the model is sure, low where it is not
    kept = probs.masked_fill(probs < threshold, 0.0)
    return kept / kept.sum(dim=-1, keepdim=True)
    ### END SOLUTION


def typical_probs(logits: Tensor, mass: float) -> Tensor:
    """Return the locally typical distribution: the tokens whose surprisal is nearest to the entropy, renormalised.

    logits (B, V) -> probs (B, V). Tokens are taken in order of |surprisal - entropy|, smallest first, until their
    probability reaches `mass`; the token that reaches it is kept, none after it, and every other token gets exactly
    0.
    Of tokens equally far from the entropy any may come first. mass = 1 keeps everything, however improbable.
    float64 logits give float64, all others float32: a running sum over a whole vocabulary needs it.
    Raises ValueError unless 0 < mass <= 1. The input is not changed. Meister et al. 2023.
    """
    ### BEGIN SOLUTION
    if not 0 < mass <= 1:
        raise ValueError(f"mass must be in (0, 1], got {mass}")
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    probs = softmax(logits)
    if mass == 1:
        return probs  # a rounded running sum can reach 1 before the last token does
    surprisal = -log_softmax(logits)
    distance = (surprisal - entropy(probs).unsqueeze(-1)).abs()
    token_ids = distance.argsort(dim=-1)
    sorted_probs = probs.gather(-1, token_ids)
    mass_before = sorted_probs.cumsum(dim=-1) - sorted_probs  # what the more typical tokens have already gathered
    kept = sorted_probs.masked_fill(mass_before >= mass, 0.0)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, token_ids, kept)  # back to the order of the vocabulary
    ### END SOLUTION


def apply_repetition_penalty(logits: Tensor, generated_ids: Tensor, penalty: float) -> Tensor:
    """Return logits in which every token that occurs in `generated_ids` is less likely, by a factor.

    logits (B, V), generated_ids (B, T) int64 -> new logits (B, V). A positive logit is divided by the penalty, a
    negative one multiplied by it, and a logit of 0 stays 0: once for each token however often it occurs. Each row
    looks at its own ids only. T may be 0. penalty 1 changes nothing; below 1, repetition is rewarded. Which ids count
    is the caller's choice. Raises ValueError if penalty <= 0. The inputs are not changed. Keskar et al. 2019, section
    4.1.
    """
    ### BEGIN SOLUTION
    if penalty <= 0:
        raise ValueError(f"penalty must be greater than 0, got {penalty}")
    seen = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, generated_ids, True)  # (B, V)
    lowered = torch.where(logits > 0, logits / penalty, logits * penalty)
    return torch.where(seen, lowered, logits)
    ### END SOLUTION


def apply_frequency_presence(logits: Tensor, generated_ids: Tensor, frequency: float, presence: float) -> Tensor:
    """Return logits in which every token that occurs in `generated_ids` is less likely, by differences.

    logits (B, V), generated_ids (B, T) int64 -> new logits (B, V).
    A token that occurs c > 0 times loses c * frequency + presence; the others keep their logit. Each row counts its own
    ids only, all of them, whatever the dtype of the logits. T may be 0. Negative values reward repetition. Which ids
    count is the caller's choice. The inputs are not changed.
    """
    ### BEGIN SOLUTION
    wide = torch.promote_types(logits.dtype, torch.float32)  # bfloat16 has no number between 256 and 258
    counts = torch.zeros_like(logits, dtype=wide)
    counts = counts.scatter_add(-1, generated_ids, torch.ones_like(generated_ids, dtype=wide))  # (B, V): how often
    occurs = (counts > 0).to(wide)  # whether
    return (logits - frequency * counts - presence * occurs).to(logits.dtype)
    ### END SOLUTION


class StopStrings:
    """Filter of a stream of text that watches for stop strings, and lets through what can no longer be part of one.

    stops: strings, none of them empty; there may be none at all. Text arrives in pieces, cut anywhere; what comes out does
    not depend on the cuts. The earliest stop wins: the one that is complete first, and of two that are complete at the
    same character the one that begins first. Of "abcd" and "bc" it is "bc", which is complete one character earlier.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        """Start a stream. Raises ValueError if one of the stops is empty."""
        ### BEGIN SOLUTION
        if "" in stops:
            raise ValueError(f"a stop string must not be empty, got {list(stops)}")
        self.stops = tuple(stops)
        self.held = ""
        self.stopped = False
        ### END SOLUTION

    def push(self, text: str) -> tuple[str, bool]:
        """Take the next piece of the stream -> (emit, stopped): text that is safe to show now; whether a stop was found.

        Exactly the longest suffix that may be the beginning of a stop string is held back. With the stop, what is
        left of the text before it is emitted. The stop itself and the text after it never are: from then on every
        push gives ("", True).
        """
        ### BEGIN SOLUTION
        if self.stopped:
            return "", True
        text = self.held + text
        found = [(start + len(stop), start) for stop in self.stops if (start := text.find(stop)) >= 0]
        if found:
            _, start = min(found)  # complete first; of those, begun first
            self.held, self.stopped = "", True
            return text[:start], True
        cut = 0  # the whole text first, then ever shorter suffixes
        while cut < len(text) and not any(stop.startswith(text[cut:]) for stop in self.stops):
            cut += 1
        self.held = text[cut:]
        return text[:cut], False
        ### END SOLUTION

    def flush(self) -> str:
        """Return what was held back, once, when the stream has ended without a stop; after a stop, the empty string."""
        ### BEGIN SOLUTION
        held, self.held = self.held, ""
        return held
        ### END SOLUTION


def beam_search(
    model: Callable[[Tensor], Tensor],
    idx: Tensor,
    *,
    beams: int,
    max_new_tokens: int,
    length_penalty: float = 0.0,
    eos_token_id: int | None = None,
) -> tuple[Tensor, float]:
    """Return the most probable continuation that a search with `beams` hypotheses finds. Nothing is drawn.

    idx (1, T) int64; model maps ids (B, T) to logits (B, T, V) -> (ids (1, T + n), log_prob): prompt and new tokens, n <=
    max_new_tokens, and the sum of the new tokens' log probabilities. At every step the best `beams` of all continuations
    stay, and at the end the best one wins; equal ones may come in any order. A hypothesis that has emitted EOS is
    finished: it keeps its place among the beams and its score until better ones push it out, and nothing is appended to
    it. An EOS in the prompt finishes nothing. The search ends after max_new_tokens steps, or when no unfinished
    hypothesis can win any more.
    Hypotheses are ranked, at every step and at the end, by log_prob / n ** length_penalty, n counting EOS: with 0 the
    most probable wins, above 0 longer ones gain.
    Log probabilities are taken in float32 at least, whatever the dtype of the logits. Raises ValueError if beams < 1.
    The input is not changed, and gradient mode is afterwards what it was before.
    """
    ### BEGIN SOLUTION
    if beams < 1:
        raise ValueError(f"beams must be 1 or more, got {beams}")

    def score(hypothesis: tuple[list[int], float]) -> float:
        tokens, log_prob = hypothesis
        return log_prob / len(tokens) ** length_penalty

    best: list[tuple[list[int], float]] = [([], 0.0)]  # new tokens, and the sum of their log probabilities
    for _ in range(max_new_tokens):
        candidates = [h for h in best if h[0][-1:] == [eos_token_id]]  # the finished ones stay as they are
        growing = [h for h in best if h[0][-1:] != [eos_token_id]]
        if not growing:
            break
        new_ids = torch.tensor([tokens for tokens, _ in growing], dtype=idx.dtype, device=idx.device)
        with torch.no_grad():
            logits = model(torch.cat([idx.expand(len(growing), -1), new_ids], dim=1))[:, -1]  # (len(growing), V)
        log_probs = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32)))
        steps, children = log_probs.topk(min(beams, logits.shape[-1]))  # of one parent, more cannot survive
        for (tokens, log_prob), row, ids in zip(growing, steps.tolist(), children.tolist(), strict=True):
            candidates += [([*tokens, token], log_prob + step) for step, token in zip(row, ids, strict=True)]
        best = sorted(candidates, key=score, reverse=True)[:beams]
    tokens, log_prob = best[0]
    return torch.cat([idx, torch.tensor([tokens], dtype=idx.dtype, device=idx.device)], dim=1), log_prob
    ### END SOLUTION
