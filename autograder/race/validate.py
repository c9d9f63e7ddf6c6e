"""The check of an engine's tokens: on the board float32 each must be the model's; on the board quantized all together must be close to it.

Only the tokens that an engine returned in the race are checked. Each is compared with the model, given the prompt
and the engine's own tokens before it, so that one different choice does not make the following tokens wrong.

A quantized engine should be within a KL divergence of the model, but its distributions cannot be checked. If we asked for them, the
engine could compute them with the whole model, and choose its tokens with a cheaper one. The tokens alone give a lower bound on the
divergence, `least_divergence`: the least distance from the model at which these tokens can be the engine's most probable ones.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from course.kit import Model

from ..grading.records import FLOAT32, QUANTIZED
from .traffic import Asked

if TYPE_CHECKING:
    from .replay import Played

BOARDS = (FLOAT32, QUANTIZED)
LEAD = 1e-3
"""The logit gap to the largest below which a token is accepted: float32 knows no better."""
FURTHEST = 5.0
"""The largest logit gap of a token on the board quantized: the model finds it e^5 = 148 times less probable."""
MOST_DIVERGENCE = 0.002
"""The limit in nats of the mean of `least_divergence` over a race's tokens.

Of tiny in blocks of 32 weights 8 bits have less than 0.00001, 4 bits 0.0008 and 3 bits 0.009, and their true mean KL divergences are
0.0001, 0.03 and 0.19: the limit is where those exceed 0.05.
"""


class Disqualified(Exception):
    """An error for a broken rule of the race, in one line; the race then has no score."""


@dataclass
class Judge:
    """The judge of one race. divergences: for the board quantized, the divergence in nats of each checked token."""

    board: str
    model: Model
    divergences: list[float] = field(default_factory=list)

    def hold(self, played: Played) -> None:
        """Raise Disqualified if a token's logit is too far below the model's largest logit."""
        if self.board == FLOAT32:
            hold_against(self.model, played)
            return
        for each, tokens, logits in _answers(self.model, played):
            _hold(each, tokens, logits, FURTHEST)
            self.divergences += least_divergence(logits, tokens).tolist()

    def end(self) -> None:
        """Raise Disqualified if the tokens' mean divergence from the model is too large."""
        if (mean := self.divergence) is not None and mean > MOST_DIVERGENCE:
            found = f"the mean divergence of the tokens from the model is at least {mean:.4f} nats"
            raise Disqualified(f"{found}, more than {MOST_DIVERGENCE:g}")

    @property
    def divergence(self) -> float | None:
        """Return the mean divergence so far; None before the first token."""
        return statistics.fmean(self.divergences) if self.divergences else None


def hold_against(model: Model, played: Played, lead: float = LEAD) -> None:
    """Raise Disqualified at the first token whose logit is `lead` or more below the model's largest.

    model: a model in float64, or in another dtype that is exact enough.
    """
    for each, tokens, logits in _answers(model, played):
        _hold(each, tokens, logits, lead)


def _hold(each: Asked, tokens: Tensor, logits: Tensor, lead: float) -> None:
    behind = logits.amax(dim=-1) - logits.gather(1, tokens[:, None])[:, 0]
    wrong = (behind >= lead).nonzero().flatten().tolist()
    if wrong:
        place = wrong[0]
        said = f"token {place} of {each.request_id} is {int(tokens[place])}; the model says {int(logits[place].argmax())}"
        raise Disqualified(f"{said}, whose logit is {float(behind[place]):.3g} larger")


@torch.no_grad()
def _answers(model: Model, played: Played) -> Iterator[tuple[Asked, Tensor, Tensor]]:
    """Yield (request, its tokens (T,), the model's logits (T, V) at each token) for each request that has tokens.

    Raises Disqualified for a token outside the vocabulary.
    """
    for each in played.asked:
        tokens = played.tokens.get(each.request_id, [])
        if not tokens:
            continue  # nothing was said
        if not all(0 <= token < model.config.vocab_size for token in tokens):
            raise Disqualified(f"a token of {each.request_id} is not an integer from 0 to {model.config.vocab_size - 1}")
        logits = model(torch.tensor([each.prompt + tokens[:-1]]))[0, len(each.prompt) - 1 :]
        yield each, torch.tensor(tokens), logits


def least_divergence(logits: Tensor, tokens: Tensor) -> Tensor:
    """Return the least KL divergence, in nats, from the model's distribution to one whose most probable token is the given one.

    logits (T, V) of the model, tokens (T,) -> (T,): the least KL(p || q) over all q in which no other token is more probable than the given
    one. The best q takes the given token and the tokens with more than a certain share in p, and gives each of them that share: the mean of
    their probabilities in p. Elsewhere q is p. The result is 0 for the most probable token. By hand, 0.4 and 0.2 become 0.3 and 0.3: 0.4
    ln(4/3) + 0.2 ln(2/3) = 0.0340.
    """
    probs = logits.double().softmax(dim=-1)
    own = probs.gather(1, tokens[:, None])  # (T, 1)
    others = probs.sort(dim=-1, descending=True).values  # (T, V); the token itself is never larger than what it shares in
    so_far = own + others.cumsum(dim=-1) - others
    part = so_far / torch.arange(1, others.shape[1] + 1)
    sharing = others.where(others > part, 0.0)
    level = (own + sharing.sum(dim=-1, keepdim=True)) / (1 + (sharing > 0).sum(dim=-1, keepdim=True))
    lost = torch.xlogy(own, own / level) + torch.xlogy(sharing, sharing / level).sum(dim=-1, keepdim=True)
    return lost[:, 0].clamp(min=0.0)
