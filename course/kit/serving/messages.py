"""The three things that travel between a client, a server and its engine."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class SamplingParams:
    """The parameters of one request's answer: OpenAI's fields, all checked and present.

    max_tokens: the limit of tokens, 1 or more. seed: None for any seed. stop: the strings that end the answer. logprobs: the number of best
    tokens reported beside each token; None for no log probabilities at all. stream: whether the answer is sent in pieces. include_usage:
    whether a last piece with the token counts is added.
    """

    max_tokens: int = 16
    temperature: float = 1.0
    top_p: float = 1.0
    seed: int | None = None
    stop: tuple[str, ...] = ()
    logprobs: int | None = None
    stream: bool = False
    include_usage: bool = False


@dataclass(frozen=True)
class TokenOutput:
    """One token of one request, from a step.

    logprob: the model's log-probability of the token, in nats. top_logprobs: pairs (token id, logprob), best first.
    """

    request_id: str
    token_id: int
    logprob: float = 0.0
    top_logprobs: list[tuple[int, float]] = field(default_factory=list)


MAX_MESSAGE = 500
"""The limit in characters: a message that quotes the request does not send it back whole."""


class RequestError(Exception):
    """The error of a request that gets a status and no answer. body: the JSON for the client, in the form of OpenAI's API.

    param: the faulty field of the request, or None. code: a word for programs. kind: the error's type in OpenAI's table.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int = 400,
        param: str | None = None,
        code: str | None = None,
        kind: str = "invalid_request_error",
    ) -> None:
        message = message if len(message) <= MAX_MESSAGE else f"{message[:MAX_MESSAGE]}…"
        super().__init__(message)
        self.status = status
        self.body: dict[str, Any] = {"error": {"message": message, "type": kind, "param": param, "code": code}}
