"""Helpers of the visible and the hidden checks of speculative decoding: the distribution of `verify_sampled`, and drafts that keep records.

The distribution is computed without sampling. `verify_sampled` gets its random numbers as arguments. The unit interval of each number is
cut where an outcome can change, one call is made in each cell, and the outcomes are weighed by the cells' sizes. The only error is
rounding.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from autograder.authoring import equal, that
from autograder.base.wording import counted
from autograder.checking.checks.test_generation import frequencies
from autograder.checking.helpers.cached import believing
from autograder.sandbox.protocol.batch import CallBatch
from solutions.kv_cache import KVCache, forward_cached

# ---- the distribution of verify_sampled ----------------------------------------------------------------------------

Chain = Sequence[Sequence[float]]
"""Distributions of the next token: row 0 at the start, row t + 1 after token t."""


def rows_after(chain: Chain, tokens: Iterable[int]) -> Tensor:
    """Return the chain's distributions at the start and after each token, as one tensor (len(tokens) + 1, V), float64."""
    return torch.tensor([chain[0], *(chain[t + 1] for t in tokens)], dtype=torch.float64)


def joint_law(chain: Chain, n: int) -> Tensor:
    """Return the distribution of the chain's first n tokens (V, ..., V)."""
    law = torch.tensor(chain[0], dtype=torch.float64)
    after = torch.tensor(chain[1:], dtype=torch.float64)
    for _ in range(n - 1):
        law = law.unsqueeze(-1) * after
    return law


def cells(cuts: Iterable[float]) -> list[tuple[float, float]]:
    """Return (middle, length) of the pieces between cuts of the unit interval. Cuts that differ only by rounding make no piece."""
    edges = sorted({0.0, 1.0, *(cut for cut in cuts if 0 < cut < 1)})
    return [((low + high) / 2, high - low) for low, high in itertools.pairwise(edges) if high - low > 1e-12]


@dataclass
class Trial:
    """One call of `verify_sampled`, and its share of the distribution."""

    p: Tensor
    q: Tensor
    draft: Tensor
    u: Tensor
    weight: float


def trials(p: Chain, q: Chain, k: int) -> list[Trial]:
    """Return calls whose weighted outcomes are the exact distribution. The weights add up to 1.

    u[i] has one value in each interval between p/q, p and q, the thresholds at which a right or a wrong rule keeps a token.
    So the rules are distinguished exactly. u[k] has one value in each interval between the points at which a draw from any residual,
    or from the last row, moves on to the next token.
    """
    found = []
    for draft in itertools.product(range(len(q[0])), repeat=k):
        ps, qs = rows_after(p, draft), rows_after(q, draft[:-1]) if k else torch.empty(0, len(p[0]), dtype=torch.float64)
        proposed = math.prod(float(row[token]) for row, token in zip(qs, draft, strict=True))
        if proposed == 0:
            continue
        intervals = [
            cells((float(a[token] / b[token]), float(a[token]), float(b[token]))) for a, b, token in zip(ps[:k], qs, draft, strict=True)
        ]
        lacking = (ps[:k] - qs).clamp(min=0)
        last = [row / row.sum() for row in lacking if row.sum() > 0] + [ps[k]]
        intervals.append(cells(cut for row in last for cut in row.cumsum(dim=0).tolist()))
        for chosen in itertools.product(*intervals):
            u = torch.tensor([middle for middle, _ in chosen], dtype=torch.float64)
            found.append(Trial(ps, qs, torch.tensor(draft, dtype=torch.int64), u, proposed * math.prod(length for _, length in chosen)))
    return found


def law_of(student: Any, p: Chain, q: Chain, k: int) -> tuple[Tensor, list[float]]:
    """Return (the distribution of the next k + 1 tokens, the probabilities of 1, ..., k + 1 emitted tokens).

    Tokens that are not emitted come from p.
    """
    calls, batch = trials(p, q, k), CallBatch()
    for call in calls:
        batch.call("verify_sampled", call.p, call.q, call.draft, call.u)
    law = torch.zeros((len(p[0]),) * (k + 1), dtype=torch.float64)
    lengths = [0.0] * (k + 1)
    for call, outcome in zip(calls, student.play(batch), strict=True):
        if outcome.error is not None:
            raise outcome.error
        tokens = emitted(outcome.value, k, len(p[0]))
        lengths[len(tokens) - 1] += call.weight
        rest = joint_law([p[tokens[-1] + 1], *p[1:]], k + 1 - len(tokens)) if len(tokens) <= k else 1.0
        law[tuple(tokens)] += call.weight * rest
    return law, lengths


def emitted(tokens: Any, k: int, vocab: int) -> list[int]:
    """Check that the tokens are a list of 1 to k + 1 ids, and return them."""
    that(isinstance(tokens, list), "the result is not a list", got=type(tokens).__name__)
    that(1 <= len(tokens) <= k + 1, "wrong number of tokens", expected=f"1 to {k + 1} for a draft of {k}", got=len(tokens))
    that(all(type(token) is int for token in tokens), "the tokens are not ints", got=tokens)
    that(all(0 <= token < vocab for token in tokens), "a token outside the vocabulary", got=tokens)
    return list(tokens)


def has_the_law(student: Any, p: Chain, q: Chain, k: int, *, what: str = "the tokens") -> list[float]:
    """Fail unless `verify_sampled` turns drafts from q into tokens with exactly the distribution p.

    Return the probability of each number of tokens.
    """
    law, lengths = law_of(student, p, q, k)
    want = joint_law(p, k + 1)
    for n in range(1, k + 2):  # of the first token, of the first two, ...: the shortest that is wrong says most
        due, got = (each.sum(dim=tuple(range(n, k + 1))) if n <= k else each for each in (want, law))
        wrong = (got - due).abs()
        if float(wrong.max()) > 1e-9:
            worst = tuple(int(i) for i in torch.unravel_index(wrong.argmax(), wrong.shape))
            tokens = " ".join(map(str, worst))
            that(
                False,
                f"{what} do not have the distribution p: {tokens} "
                + ("comes first" if n == 1 else "come first")
                + " too often or too rarely",
                expected=f"probability {float(due[worst]):.4f}",
                got=f"{float(got[worst]):.4f}",
            )
    return lengths


# ---- drafts --------------------------------------------------------------------------------------------------------


@dataclass
class Books:
    """A draft that records its calls: (text so far, k), the number of guesses, and the guesses."""

    asked: list[tuple[list[int], int]] = field(default_factory=list)
    given: list[int] = field(default_factory=list)
    guesses: list[list[int]] = field(default_factory=list)

    def __call__(self, ids: Any, k: Any) -> tuple[list[int], Tensor | None]:
        that(isinstance(ids, list) and all(type(token) is int for token in ids), "draft is called with a list of ints, and k", got=ids)
        that(type(k) is int, "draft is called with a list of ints, and k", got=k)
        self.asked.append((list(ids), k))
        tokens, q = self.guess(ids, k)
        self.given.append(len(tokens))
        self.guesses.append(list(tokens))
        return tokens, q

    def guess(self, ids: list[int], k: int) -> tuple[list[int], Tensor | None]:
        return [], None


@dataclass
class Oracle(Books):
    """A draft that guesses the coming text. `off` is added to every token of a guess after its first `right` tokens."""

    text: list[int] = field(default_factory=list)
    vocab: int = 0
    off: int = 0
    right: int = 0

    def guess(self, ids: list[int], k: int) -> tuple[list[int], None]:
        tokens = self.text[len(ids) : len(ids) + k]
        return tokens[: self.right] + [(token + self.off) % self.vocab for token in tokens[self.right :]], None


@dataclass
class Lookup(Books):
    """A draft that looks up the continuation of an earlier place, as `lookup_draft` does."""

    def guess(self, ids: list[int], k: int) -> tuple[list[int], None]:
        return looked_up(ids, 3, k), None


@dataclass
class Drawn(Books):
    """A draft that draws tokens from a chain, and returns the chain's rows as q, or None if `certain`.

    some: the draft may return fewer than k guesses.
    """

    chain: Chain = ()
    generator: torch.Generator = field(default_factory=torch.Generator)
    certain: bool = False
    some: bool = False

    def __post_init__(self) -> None:
        self.rows = torch.tensor(self.chain, dtype=torch.float64)
        self.scales = [list(itertools.accumulate(row)) for row in self.chain]

    def guess(self, ids: list[int], k: int) -> tuple[list[int], Tensor | None]:
        n = int(torch.randint(k + 1, (), generator=self.generator)) if self.some else k
        tokens = [ids[-1]]
        for u in torch.rand(n, generator=self.generator, dtype=torch.float64).tolist():
            scale = self.scales[tokens[-1]]
            tokens.append(bisect.bisect_right(scale, u * scale[-1]))
        return tokens[1:], None if self.certain or not n else self.rows[tokens[:-1]]


def looked_up(ids: list[int], max_ngram: int, k: int) -> list[int]:
    """Return the expected result of `lookup_draft`, by a search from the left."""
    for n in range(max_ngram, 0, -1):
        starts = [start for start in range(len(ids) - n) if ids[start : start + n] == ids[len(ids) - n :]]
        if starts and n < len(ids):
            return ids[starts[-1] + n :][:k]
    return []


def speculated(student: Any, model: Any, idx: Tensor, *, draft: Any, **options: Any) -> list[int]:
    """Return the new tokens of `generate_speculative`, after a check of their form and of the prompt."""
    got = student.generate_speculative(model, idx, draft=draft, _unchanged=True, **options)
    that(isinstance(got, Tensor), "the result is not a tensor", got=type(got).__name__)
    that(got.dtype == torch.int64, "token ids are int64", got=str(got.dtype))
    T, limit = idx.shape[1], options["max_new_tokens"]
    that(
        got.dim() == 2 and len(got) == 1 and T <= got.shape[1] <= T + limit,
        "wrong shape",
        expected=f"(1, T + n) with T = {T} and n at most {limit}",
        got=str(tuple(got.shape)),
    )
    equal(got[:, :T], idx, what="the result does not begin with the prompt")
    new: list[int] = got[0, T:].tolist()
    return new


@torch.no_grad()
def without_rollback(model: Any, idx: Tensor, draft: Any, limit: int, k: int) -> list[tuple[list[int], str]]:
    """Return (text, sentence) of two wrong greedy loops: all refused guesses stay in the cache, or one of them does.

    The sentence names the mistake.
    """
    texts, end = [], idx.shape[1] + limit
    for too_many, cause in (
        (None, "The keys of refused guesses are still in the cache: truncate it after every round."),
        (1, "After a refused guess the cache holds 1 token too many: it has to hold the text without its newest token."),
    ):
        ids = idx[0].tolist()
        cache = KVCache(model.config, 1, end + limit * (k + 1), torch.float64)
        while len(ids) < end:
            n = min(k, end - len(ids) - 1) if cache.length else 0
            guess = draft.guess(ids, n)[0] if n > 0 else []
            fed = ids[-1:] + guess if cache.length else ids
            best = forward_cached(model, torch.tensor([fed]), cache)[0, -len(guess) - 1 :].argmax(dim=-1).tolist()
            kept = next((i for i, token in enumerate(guess) if token != best[i]), len(guess))
            ids += best[: kept + 1]
            if too_many:
                cache.counts = [min(cache.length, len(ids) - 1 + too_many)] * len(cache.counts)
        texts.append((ids[idx.shape[1] : end], cause))
    return texts


def asked_as_it_should(draft: Books, idx: Tensor, new: list[int], k: int, limit: int, block_size: int = 1024) -> None:
    """Fail unless a draft was always asked with the current text, each time a longer one, and for no more guesses than are useful."""
    T, text = idx.shape[1], idx[0].tolist() + new
    before = T
    for ids, n in draft.asked:
        equal(ids, text[: len(ids)], what="the draft was asked with another text than the current one")
        that(
            len(ids) > T,
            "the draft was asked with the prompt alone, or less",
            expected=f"more than {T} tokens: a prefill makes the first",
            got=len(ids),
        )
        that(len(ids) > before, "the draft was asked with a text that is no longer than before", got=counted(len(ids), "token"))
        before = len(ids)
        left, room = T + limit - len(ids), block_size - len(ids)
        most = min(k, left - 1, room)
        if room < left - 1 and room < k:
            why, at_end = f"with room for {max(room, 0)} in the window", "not to be asked: a guess would not fit into the window"
        else:
            why, at_end = f"with {left} still to be made", "not to be asked: the pass makes the last token itself"
        that(
            1 <= n <= most,
            f"the draft was asked for a wrong number of tokens, {why} and k = {k}",
            expected=f"1 to {most}" if most > 0 else at_end,
            got=n,
        )


def replaced_by_another(draft: Books, idx: Tensor, new: list[int]) -> None:
    """Fail if a guess of the draft is the last token of a round.

    After a kept guess comes a token of the model's pass. A refused guess is more probable in the draft than in the model. So its residual
    is 0, and the same token cannot replace it.
    """
    text, lengths = idx[0].tolist() + new, [len(ids) for ids, _ in draft.asked]
    for guess, before, after in zip(draft.guesses, lengths, lengths[1:], strict=False):
        if 0 < after - before <= len(guess):
            that(
                text[after - 1] != guess[after - before - 1],
                f"a round ended with guess {after - before} of {len(guess)} itself",
                expected="another token after it if it is kept, another one in its place if it is refused",
                got=f"{text[after - 1]}, and then a new round",
            )


# ---- drawn texts ---------------------------------------------------------------------------------------------------

ORDER = ((1, 0, 2, 3), (2, 0, 3, 1), (3, 1, 0, 2), (0, 2, 1, 3))
"""After token t, the tokens from the most to the least probable."""


def after_each(law: Sequence[float]) -> Chain:
    """Return a chain in which the tokens' ranks have this distribution after every token, so that the ranks of a text are independent."""
    return tuple(tuple(law[ranks.index(token)] for token in range(len(law))) for ranks in ORDER)


BELIEVED = after_each((0.45, 0.25, 0.17, 0.13))
GUESSED = after_each((0.05, 0.10, 0.05, 0.80))
"""Distributions of the next token after the last one, by a model and by a bad draft, which prefers the model's least probable token."""


def filtered_law(row: list[float], temperature: float, top_k: int | None, top_p: float | None) -> list[float]:
    """Return the expected `filtered_probs` of the logits of one place, token by token."""
    weights = [math.exp((x - max(row)) / temperature) for x in row]
    if top_k is not None:
        least = sorted(weights, reverse=True)[min(top_k, len(weights)) - 1]
        weights = [w if w >= least else 0.0 for w in weights]
    if top_p is not None:
        kept: set[int] = set()
        mass = 0.0
        for token in sorted(range(len(weights)), key=weights.__getitem__, reverse=True):
            if mass >= top_p * sum(weights):
                break
            kept.add(token)
            mass += weights[token]
        weights = [w if token in kept else 0.0 for token, w in enumerate(weights)]
    return [w / sum(weights) for w in weights]


def believer(student: Any, chain: Chain = BELIEVED) -> Any:
    """Return a model whose next token depends only on the last token: row t of the chain is the distribution after token t."""
    return believing(student, torch.tensor(chain).log().tolist())


def follows(new: list[int], last: int, chain: Chain, *, under: str = "") -> None:
    """Fail if `new`, the text after the token `last`, is very improbable under the chain, a filtered BELIEVED.

    The ranks of the tokens are independent draws. `frequencies` judges these draws, and states the probability of a false alarm.
    """
    that(all(0 <= token < len(chain) for token in new), "a token outside the vocabulary", got=new)
    ranks = [ORDER[before].index(token) for before, token in itertools.pairwise([last, *new])]
    law = [float(chain[0][token]) for token in ORDER[0]]
    frequencies(
        torch.tensor(ranks), law, under=f"{under} (counts by the token's rank after the previous token; rank 0 is the most probable)"
    )
