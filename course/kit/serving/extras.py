"""The settings of an answer that OpenAI's API does not have, or that Day 18's `SamplingParams` leave out: read from a request's JSON.

Names, ranges and values that switch a setting off are those of vLLM and llama.cpp's server.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .messages import RequestError
from .requests import flag, unicode


@dataclass(frozen=True)
class Extras:
    """A request's settings besides SamplingParams. The defaults change nothing.

    top_k: keeps the k most probable tokens, None all tokens. min_p: keeps tokens with at least this share of the most probable token's
    probability. typical_p: keeps the tokens whose surprisal is nearest to the entropy, until they have this probability together; 1 keeps
    all tokens. repetition_penalty: divides positive logits of the prompt's and the answer's tokens, and multiplies negative ones.
    presence_penalty: is subtracted from the logits of the answer's tokens. frequency_penalty: is subtracted once for each time that a token
    occurs in the answer. logit_bias: pairs (token, number added to its logit), sorted by token. stop_token_ids: tokens that end the answer
    as EOS does, in order. ignore_eos: whether the answer goes on after EOS. min_tokens: the number of tokens before which neither EOS nor
    one of stop_token_ids is drawn. salt: only requests with the same salt share the cache of prompts.
    """

    top_k: int | None = None
    min_p: float = 0.0
    typical_p: float = 1.0
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    logit_bias: tuple[tuple[int, float], ...] = ()
    stop_token_ids: tuple[int, ...] = ()
    ignore_eos: bool = False
    min_tokens: int = 0
    salt: bytes = b""


def read_extras(body: dict[str, Any], vocab_size: int, max_tokens: int) -> Extras:
    """Return the extras of a request; missing and null fields get their defaults. Raises RequestError with the faulty field.

    max_tokens: the limit of the answer, which min_tokens may reach.
    """
    return Extras(
        top_k=_top_k(body.get("top_k")),
        min_p=_number(body, "min_p", 0.0, "from 0 to 1", lambda x: 0 <= x <= 1),
        typical_p=_number(body, "typical_p", 1.0, "above 0 and at most 1", lambda x: 0 < x <= 1),
        repetition_penalty=_number(body, "repetition_penalty", 1.0, "above 0 and at most 2", lambda x: 0 < x <= 2),
        presence_penalty=_number(body, "presence_penalty", 0.0, "from -2 to 2", lambda x: -2 <= x <= 2),
        frequency_penalty=_number(body, "frequency_penalty", 0.0, "from -2 to 2", lambda x: -2 <= x <= 2),
        logit_bias=_bias(body.get("logit_bias"), vocab_size),
        stop_token_ids=_stop_token_ids(body.get("stop_token_ids"), vocab_size),
        ignore_eos=flag(body, "ignore_eos"),
        min_tokens=_min_tokens(body.get("min_tokens"), max_tokens),
        salt=_salt(body.get("cache_salt")),
    )


def _top_k(value: Any) -> int | None:
    if value is None or (_is_int(value) and value in (-1, 0)):
        return None
    if not _is_int(value) or value < 1:
        raise RequestError(f"top_k must be a whole number of 1 or more, or -1 or 0 for all tokens, got {value!r:.60}", param="top_k")
    return int(value)


def _number(body: dict[str, Any], name: str, default: float, range_: str, valid: Callable[[float], bool]) -> float:
    given = default if body.get(name) is None else body[name]
    if isinstance(given, bool) or not isinstance(given, int | float) or not math.isfinite(given) or not valid(given):
        raise RequestError(f"{name} must be a number {range_}, got {given!r:.60}", param=name)
    return float(given)


def _bias(value: Any, vocab_size: int) -> tuple[tuple[int, float], ...]:
    """Convert {token id as text: bias from -100 to 100} of a request to pairs."""
    if value is None:
        return ()
    if not isinstance(value, dict):
        raise RequestError(f"logit_bias must be an object of token ids and biases, got {value!r:.60}", param="logit_bias")
    pairs = {}
    for token, bias in value.items():
        if not (token.isascii() and token.isdecimal() and len(token) < 10 and int(token) < vocab_size):
            message = f"logit_bias: token {token!r:.60} is not one of this model's, 0 to {vocab_size - 1}"
            raise RequestError(message, param="logit_bias")
        if isinstance(bias, bool) or not isinstance(bias, int | float) or not -100 <= bias <= 100:
            raise RequestError(f"logit_bias of token {token} must be a number from -100 to 100, got {bias!r:.60}", param="logit_bias")
        pairs[int(token)] = float(bias)
    return tuple(sorted((token, bias) for token, bias in pairs.items() if bias))


def _stop_token_ids(value: Any, vocab_size: int) -> tuple[int, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise RequestError(f"stop_token_ids must be a list of token ids, got {value!r:.60}", param="stop_token_ids")
    for token in value:
        if not _is_int(token) or not 0 <= token < vocab_size:
            message = f"stop_token_ids: token {token!r:.60} is not one of this model's, 0 to {vocab_size - 1}"
            raise RequestError(message, param="stop_token_ids")
    return tuple(sorted(set(value)))


def _min_tokens(value: Any, max_tokens: int) -> int:
    if value is None:
        return 0
    if not _is_int(value) or value < 0:
        raise RequestError(f"min_tokens must be a whole number of 0 or more, got {value!r:.60}", param="min_tokens")
    if value > max_tokens:
        raise RequestError(f"min_tokens is {value}, more than the answer's limit of {max_tokens} tokens", param="min_tokens")
    return int(value)


def _salt(value: Any) -> bytes:
    if value is None:
        return b""
    if not isinstance(value, str) or not value:
        raise RequestError(f"cache_salt must be a non-empty string, got {value!r:.60}", param="cache_salt")
    return unicode(value, "cache_salt").encode()


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
