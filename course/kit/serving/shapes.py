"""The shapes of an answer on the wire: the JSON of OpenAI's API, whole and in chunks, of chats and of completions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..models.tokenizer import Tokenizer
from .core import Report
from .messages import SamplingParams, TokenOutput

UNKNOWN = math.nan
"""The log-probability of a prompt's first token, which follows nothing. JSON gets null."""
LEAST_LOGPROB = -9999.0
"""The number for a log-probability of minus infinity: JSON has no infinity. vLLM sends the same number."""


@dataclass(frozen=True)
class Piece:
    """A piece of an answer: a text, and its tokens. finish_reason: None unless it is the last piece. echoed: whether it is the prompt.

    index: the number of its choice.

    Some tokens have no text yet: a part of a character, the beginning of a possible stop string. Such a token is in the first piece whose
    text includes it, so the pieces together have each token once.
    """

    text: str
    tokens: list[TokenOutput]
    finish_reason: str | None
    echoed: bool = False
    index: int = 0


@dataclass
class Answer:
    """The answer to one request: its id and the JSON of the pieces of its choices.

    n: the number of choices. num_prompt_tokens counts each prompt once, and num_tokens the generated tokens of all choices. reports: for
    each prompt, the report with the number of its tokens that were found in the cache; none if the client is not told. The offsets are in
    characters, one for each choice.
    """

    id: str
    created: int
    model: str
    chat: bool
    tokenizer: Tokenizer
    params: SamplingParams
    num_prompt_tokens: int
    num_tokens: int = 0
    n: int = 1
    reports: Sequence[Report] = ()
    _offsets: dict[int, int] = field(default_factory=dict, repr=False)

    def whole(self, pieces: Sequence[Piece]) -> dict[str, Any]:
        """Return the whole answer in one object."""
        self.num_tokens = sum(len(piece.tokens) for piece in pieces if not piece.echoed)
        choices: dict[int, list[Piece]] = {}
        for piece in pieces:
            choices.setdefault(piece.index, []).append(piece)
        return {**self._head(), "choices": [self._joined(choices[index]) for index in sorted(choices)], "usage": self.usage()}

    def _joined(self, pieces: list[Piece]) -> dict[str, Any]:
        """Return a whole choice."""
        text = "".join(piece.text for piece in pieces)
        tokens = [token for piece in pieces for token in piece.tokens]
        said = {"message": {"role": "assistant", "content": text}} if self.chat else {"text": text}
        return self._choice(pieces[-1].index, said, tokens, pieces[-1].finish_reason)

    def opening(self, index: int) -> dict[str, Any]:
        """Return the first chunk of a chat's choice, with the role."""
        return self._chunk([self._choice(index, {"delta": {"role": "assistant", "content": ""}}, None, None)])

    def chunk(self, piece: Piece) -> dict[str, Any]:
        """Return the chunk of one piece."""
        self.num_tokens += 0 if piece.echoed else len(piece.tokens)
        said = {"delta": {"content": piece.text} if piece.text else {}} if self.chat else {"text": piece.text}
        return self._chunk([self._choice(piece.index, said, piece.tokens, piece.finish_reason)])

    def echo(self, ids: Sequence[int], report: Report, *, alone: bool) -> Piece:
        """Return the prompt as a piece, with the report's log-probabilities. alone: whether nothing follows it."""
        entries = [(UNKNOWN, []), *report.prompt] if self.params.logprobs is not None else []
        tokens = [TokenOutput(self.id, token, *entry) for token, entry in zip(ids, entries, strict=True)] if entries else []
        return Piece(self.tokenizer.decode(list(ids)), tokens, "length" if alone else None, echoed=True)

    def closing(self) -> dict[str, Any]:
        """Return the last chunk, which counts the tokens."""
        return {**self._chunk([]), "usage": self.usage()}

    def usage(self) -> dict[str, Any]:
        """Return the token counts. All generated tokens count, including the EOS and the tokens of a stop string."""
        prompt, made = self.num_prompt_tokens, self.num_tokens
        counts = [report.num_cached for report in self.reports if report.num_cached is not None]
        cached = {"prompt_tokens_details": {"cached_tokens": sum(counts)}} if counts else {}
        return {"prompt_tokens": prompt, "completion_tokens": made, "total_tokens": prompt + made, **cached}

    def _head(self, chunk: bool = False) -> dict[str, Any]:
        kind = ("chat.completion.chunk" if chunk else "chat.completion") if self.chat else "text_completion"
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}

    def _chunk(self, choices: list[dict[str, Any]]) -> dict[str, Any]:
        return {**self._head(chunk=True), "choices": choices, **({"usage": None} if self.params.include_usage else {})}

    def _choice(
        self, index: int, said: dict[str, Any], tokens: list[TokenOutput] | None, finish_reason: str | None
    ) -> dict[str, Any]:
        logprobs = None
        if tokens is not None and self.params.logprobs is not None:
            logprobs = {"content": [self._token(token) for token in tokens], "refusal": None} if self.chat else self._columns(index, tokens)
        return {"index": index, **said, "logprobs": logprobs, "finish_reason": finish_reason}

    # A chat's log probabilities: an object for each token

    def _token(self, token: TokenOutput) -> dict[str, Any]:
        best = [self._one(token_id, logprob) for token_id, logprob in token.top_logprobs]
        return {**self._one(token.token_id, token.logprob), "top_logprobs": best}

    def _one(self, token_id: int, logprob: float) -> dict[str, Any]:
        """Return a token as text and as bytes. Bytes are needed because a character may be several tokens."""
        content = list(self.tokenizer.token_bytes(token_id))
        return {"token": self.tokenizer.decode([token_id]), "logprob": max(logprob, LEAST_LOGPROB), "bytes": content}

    # A completion's: a column for each kind of thing

    def _columns(self, index: int, tokens: list[TokenOutput]) -> dict[str, Any]:
        names = [self._name(token.token_id) for token in tokens]
        offsets, at = [], self._offsets.get(index, 0)
        for token in tokens:
            offsets.append(at)
            at += sum(byte & 0xC0 != 0x80 for byte in self.tokenizer.token_bytes(token.token_id))  # characters that begin in it
        self._offsets[index] = at
        return {
            "tokens": names,
            "token_logprobs": [None if math.isnan(token.logprob) else max(token.logprob, LEAST_LOGPROB) for token in tokens],
            "top_logprobs": [None if math.isnan(token.logprob) else self._best(token) for token in tokens],
            "text_offset": offsets,
        }

    def _best(self, token: TokenOutput) -> dict[str, float]:
        """Return the best tokens and, as in OpenAI's API, also the drawn token if it is not among them."""
        best: dict[str, float] = {}
        for token_id, logprob in [*token.top_logprobs, (token.token_id, token.logprob)]:
            best.setdefault(self._name(token_id), max(logprob, LEAST_LOGPROB))
        return best

    def _name(self, token_id: int) -> str:
        """Return a token's text, or "bytes:" and its bytes if these alone are not valid UTF-8."""
        data = self.tokenizer.token_bytes(token_id)
        try:
            return data.decode()
        except UnicodeDecodeError:
            return "bytes:" + "".join(f"\\x{byte:02x}" for byte in data)
