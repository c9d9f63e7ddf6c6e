"""Byte-level BPE: text to token ids and back, with public tables that a hand-written tokenizer needs."""

import json
import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer as Backend

from ..errors import ModelError

LONG = 20_000
"""The length in characters from which a text is encoded on another thread, so that others do not wait for it."""


def byte_symbols() -> dict[int, str]:
    """Return GPT-2's printable symbol for each of the 256 bytes. Most ASCII characters are their own symbol; a space is `Ġ`."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in printable]
    symbols = {byte: chr(byte) for byte in printable}
    symbols |= {byte: chr(256 + index) for index, byte in enumerate(others)}
    return dict(sorted(symbols.items()))


class Tokenizer:
    """A tokenizer from a `tokenizer.json`. The `tokenizers` library does the work; the tables are Python objects."""

    def __init__(self, json_text: str, *, name: str, bos_token_id: int | None, eos_token_id: int | None) -> None:
        try:
            self._backend = Backend.from_str(json_text)
            self._json: dict[str, Any] = json.loads(json_text)
        except Exception as error:  # the library raises bare Exceptions
            problem = str(error).splitlines()[0]
            raise ModelError(f"{name}: tokenizer.json cannot be read ({problem}); copy it again") from None
        if self._json["model"].get("type", "BPE") != "BPE":
            raise ModelError(f"{name}: the tokenizer is {self._json['model']['type']}, the kit reads BPE only")
        self.name = name
        self.bos_token_id = bos_token_id
        self.eos_token_id = eos_token_id

    @classmethod
    def from_folder(
        cls, folder: Path, *, name: str, bos_token_id: int | None = None, eos_token_id: int | None = None
    ) -> "Tokenizer":
        """Read `tokenizer.json`. Ids that are None come from the names in `tokenizer_config.json`, if that file exists."""
        file = folder / "tokenizer.json"
        if not file.is_file():
            raise ModelError(f"{name}: {file} is missing; copy it from where the model came from")
        tokenizer = cls(file.read_text("utf-8"), name=name, bos_token_id=bos_token_id, eos_token_id=eos_token_id)
        extra = folder / "tokenizer_config.json"
        if extra.is_file():
            named = json.loads(extra.read_text("utf-8"))
            for role in ("bos", "eos"):
                token = named.get(f"{role}_token")
                token = token["content"] if isinstance(token, dict) else token
                if getattr(tokenizer, f"{role}_token_id") is None and token is not None:
                    setattr(tokenizer, f"{role}_token_id", tokenizer.vocab.get(token))
        return tokenizer

    def encode(self, text: str) -> list[int]:
        """Return the token ids of the text. A special token written out in the text becomes its id; no token is added."""
        if len(text) > LONG:  # a batch lets other threads run meanwhile: a megabyte takes seconds
            return self._backend.encode_batch([text], add_special_tokens=False)[0].ids
        return self._backend.encode(text, add_special_tokens=False).ids

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of the ids, with special tokens written out. Bytes that are not UTF-8 become U+FFFD.

        Raises ValueError for an id outside the vocabulary.
        """
        ids = [self._checked(token_id) for token_id in ids]
        return self._backend.decode(ids, skip_special_tokens=False)

    @cached_property
    def vocab(self) -> dict[str, int]:
        """Return {token, written in symbols: id}."""
        return dict(sorted(self._backend.get_vocab(with_added_tokens=True).items(), key=lambda item: item[1]))

    @cached_property
    def longest(self) -> int:
        """Return the number of bytes of the longest token. A text with more than n times as many bytes has more than n tokens."""
        symbols = set(byte_symbols().values())
        return max(len(token) if token not in self._added and symbols.issuperset(token) else len(token.encode()) for token in self.vocab)

    @cached_property
    def id_to_token(self) -> list[str]:
        """Return tokens in the order of their ids; an id without a token gets the empty string."""
        tokens = [""] * (max(self.vocab.values()) + 1)
        for token, token_id in self.vocab.items():
            tokens[token_id] = token
        return tokens

    @cached_property
    def ranks(self) -> dict[tuple[str, str], int]:
        """Return {pair of symbols: its rank in the order of learning}. BPE merges the pair of lowest rank first."""
        merges = self._json["model"]["merges"]  # ["Ġ", "t"], or "Ġ t" in older files
        pairs = (merge.split(" ") if isinstance(merge, str) else merge for merge in merges)
        return {(left, right): rank for rank, (left, right) in enumerate(pairs)}

    @cached_property
    def special_tokens(self) -> dict[str, int]:
        """Return {special token: id}. Merges never make such a token, for example `<|im_start|>`."""
        return {added["content"]: added["id"] for added in self._json.get("added_tokens", ()) if added["special"]}

    @cached_property
    def byte_to_symbol(self) -> dict[int, str]:
        """Return {byte: the character that represents it in tokens}."""
        self._require_byte_level()
        return byte_symbols()

    @cached_property
    def symbol_to_byte(self) -> dict[str, int]:
        return {symbol: byte for byte, symbol in self.byte_to_symbol.items()}

    def pre_tokenize(self, text: str) -> list[str]:
        """Split the text into the pieces within which merges happen. A special token is a piece of its own.

        `"".join(pieces) == text`.
        """
        self._require_byte_level()
        added = sorted((added["content"] for added in self._json.get("added_tokens", ())), key=len, reverse=True)
        parts = re.split(f"({'|'.join(map(re.escape, added))})", text) if added else [text]
        pieces: list[str] = []
        for index, part in enumerate(parts):
            if index % 2:  # the separators that re.split kept: special tokens
                pieces.append(part)
            elif part:
                for symbols, _ in self._backend.pre_tokenizer.pre_tokenize_str(part):
                    pieces.append(bytes(self.symbol_to_byte[symbol] for symbol in symbols).decode("utf-8"))
        return pieces

    def token_bytes(self, token_id: int) -> bytes:
        """Return the bytes that a token adds to the text; one character may be spread over several tokens.

        A token with a character that is not the symbol of a byte stands for its own text, as in `decode`.
        """
        token, bytes_of = self.id_to_token[self._checked(token_id)], self.symbol_to_byte
        if token in self._added or not bytes_of.keys() >= set(token):
            return token.encode("utf-8")
        return bytes(bytes_of[symbol] for symbol in token)

    def __repr__(self) -> str:
        return f"Tokenizer({self.name!r}, {len(self.vocab):,} tokens)"

    @cached_property
    def _added(self) -> set[str]:
        return {added["content"] for added in self._json.get("added_tokens", ())}

    def _checked(self, token_id: int) -> int:
        if not 0 <= token_id < len(self.id_to_token):
            raise ValueError(f"token ids must be 0 to {len(self.id_to_token) - 1}, got {token_id}")
        return int(token_id)

    def _require_byte_level(self) -> None:
        if '"ByteLevel"' not in json.dumps(self._json.get("pre_tokenizer")):
            raise ModelError(
                f"{self.name}: the tokenizer can encode and decode, but is not byte-level: it has no bytes"
            )
