"""The report of a core on one request besides its tokens, and the output that ends a request with an error."""

from __future__ import annotations

from dataclasses import dataclass, field

from .messages import TokenOutput


@dataclass
class Report:
    """A core's report on one request besides its tokens, complete when the core returns the first token.

    num_cached: the prompt's tokens that were found in the cache; None if unknown. prompt_top: set by the caller; the number of best tokens
    to report at each place of the prompt, or None for no log-probabilities. prompt: for each of the prompt's tokens but the first, its
    log-probability and the best tokens, as in TokenOutput.
    """

    num_cached: int | None = None
    prompt_top: int | None = None
    prompt: list[tuple[float, list[tuple[int, float]]]] = field(default_factory=list)


@dataclass(frozen=True)
class FailedOutput(TokenOutput):
    """The end of a request without a token. error: the reason; the fields of a token mean nothing."""

    error: Exception = field(kw_only=True)
