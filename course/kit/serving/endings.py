"""The end of an answer at other tokens than the model's EOS, around a text stream that knows EOS only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..models.tokenizer import Tokenizer
from .extras import Extras
from .messages import SamplingParams
from .reading import Stream

END = -1
"""A number that is no token's. The stream gets it as EOS, in place of a token that ends the answer."""


class OtherEnd:
    """A view of a tokenizer for a stream: END is its EOS, and the model's EOS is a token without text."""

    eos_token_id = END

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    def token_bytes(self, token_id: int) -> bytes:
        return b"" if token_id == self._tokenizer.eos_token_id else self._tokenizer.token_bytes(token_id)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tokenizer, name)


class EndingStream:
    """A text stream that ends at one of the tokens `ends`, which then has no text."""

    def __init__(self, stream: Stream, ends: frozenset[int | None]) -> None:
        """stream: made with an `OtherEnd`."""
        self._stream, self._ends = stream, ends

    @property
    def finish_reason(self) -> str | None:
        return self._stream.finish_reason

    def push(self, token_id: int) -> str:
        return self._stream.push(END if token_id in self._ends else token_id)


def text_stream(make: Callable[[Any, SamplingParams], Stream], tokenizer: Tokenizer, params: SamplingParams, extras: Extras) -> Stream:
    """Return the stream of one answer. make: Day 18's `TextStream`, or a replacement with the same contract."""
    if not extras.stop_token_ids and not extras.ignore_eos:
        return make(tokenizer, params)
    ends = {*extras.stop_token_ids, None if extras.ignore_eos else tokenizer.eos_token_id}
    return EndingStream(make(OtherEnd(tokenizer), params), frozenset(ends))
