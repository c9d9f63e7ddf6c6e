"""Byte-level BPE, from text to token ids and back, and the chat template that makes one text of a conversation."""

from __future__ import annotations

import math
from itertools import pairwise

from course.kit import Tokenizer

DEFAULT_SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"


def merge_pair(symbols: list[str], pair: tuple[str, str]) -> list[str]:
    """Return a copy of `symbols` in which every occurrence of `pair` has become one symbol.

    From left to right, without overlap: a symbol that has just been merged is not used again, so that
    ["a", "a", "a"] with the pair ("a", "a") gives ["aa", "a"]. `symbols` is not changed.
    """
    ### BEGIN SOLUTION
    left, right = pair
    merged: list[str] = []
    i = 0
    while i < len(symbols):
        if symbols[i : i + 2] == [left, right]:
            merged.append(left + right)
            i += 2
        else:
            merged.append(symbols[i])
            i += 1
    return merged
    ### END SOLUTION


def bpe_encode(text: str, tokenizer: Tokenizer) -> list[int]:
    """Return the token ids of `text`.

    Each piece of `tokenizer.pre_tokenize(text)` is encoded by itself. A special token gives its id.
    Any other piece begins as one symbol for each byte of its UTF-8 form. A symbol that is not in
    `tokenizer.vocab` is left out before anything is merged, as in the tokenizers library: its
    neighbours are then side by side. The neighbouring pair of lowest rank is merged until no pair has a
    rank; then each remaining symbol gives its id. Nothing is added in front or at the end.
    Sennrich, Haddow and Birch 2016, section 3.2; on bytes: Radford et al. 2019, section 2.2.
    """
    ### BEGIN SOLUTION
    ids: list[int] = []
    for piece in tokenizer.pre_tokenize(text):
        if piece in tokenizer.special_tokens:
            ids.append(tokenizer.special_tokens[piece])
            continue
        symbols = [tokenizer.byte_to_symbol[byte] for byte in piece.encode()]
        symbols = [symbol for symbol in symbols if symbol in tokenizer.vocab]
        while len(symbols) > 1:
            best = min(pairwise(symbols), key=lambda pair: tokenizer.ranks.get(pair, math.inf))
            if best not in tokenizer.ranks:
                break
            symbols = merge_pair(symbols, best)
        ids.extend(tokenizer.vocab[symbol] for symbol in symbols)
    return ids
    ### END SOLUTION


def bpe_decode(ids: list[int], tokenizer: Tokenizer) -> str:
    """Return the text of token ids: the bytes of all tokens, joined and read as UTF-8.

    Bytes that are not UTF-8 become U+FFFD, as in `bytes.decode(errors="replace")`.
    A special token gives its name.
    """
    ### BEGIN SOLUTION
    return b"".join(tokenizer.token_bytes(i) for i in ids).decode("utf-8", errors="replace")
    ### END SOLUTION


class StreamDecoder:
    """Text of token ids that arrive one at a time.

    All pushes and the flush, joined, give `bpe_decode` of all ids. A character is given out by the push
    that completes it, never in parts and never later. Only the beginning of a character is held back: a
    first byte, C2 to F4, and continuation bytes, 80 to BF, fewer than it announces. A byte that begins
    no character, or that breaks one off, comes out as U+FFFD at once.
    (After E0, ED, F0 and F4 not every continuation byte makes a character: RFC 3629, section 4. Such a
    pair may come out as U+FFFD at once too, or be held like any other.)
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        ### BEGIN SOLUTION
        self.tokenizer = tokenizer
        self.held = b""
        ### END SOLUTION

    def push(self, id: int) -> str:
        """Return the characters that this token completes: "" while the last character still lacks bytes."""
        ### BEGIN SOLUTION
        data = self.held + self.tokenizer.token_bytes(id)
        cut = len(data)
        for back in range(1, min(3, len(data)) + 1):  # the last character may lack one byte, of four: look at three
            byte = data[-back]
            if 0x80 <= byte <= 0xBF:
                continue  # continues a character that began further to the left
            announced = 2 if 0xC2 <= byte <= 0xDF else 3 if 0xE0 <= byte <= 0xEF else 4 if 0xF0 <= byte <= 0xF4 else 1
            if announced > back:
                cut = len(data) - back
            break
        self.held = data[cut:]
        return data[:cut].decode("utf-8", errors="replace")
        ### END SOLUTION

    def flush(self) -> str:
        """Return at the end of the stream what was held back, as U+FFFD, or "". A new stream may follow."""
        ### BEGIN SOLUTION
        held, self.held = self.held, b""
        return held.decode("utf-8", errors="replace")
        ### END SOLUTION


def render_chat(messages: list[dict[str, str]]) -> str:
    """Return one text of a conversation, in ChatML, ending where the assistant is to speak.

    messages: one or more of {"role": ..., "content": ...}, oldest first; they are not changed.
    Each becomes "<|im_start|>" + role, a newline, content, "<|im_end|>" and a newline; the content is
    copied as it is. The text ends with "<|im_start|>assistant" and a newline: the generation prompt.
    If the first message is not a system message, one that says DEFAULT_SYSTEM comes before it, as in
    the template of SmolLM2 (`tokenizer.chat_template` in its GGUF file).
    """
    ### BEGIN SOLUTION
    if messages[0]["role"] != "system":
        messages = [{"role": "system", "content": DEFAULT_SYSTEM}, *messages]
    turns = [f"<|im_start|>{message['role']}\n{message['content']}<|im_end|>\n" for message in messages]
    return "".join(turns) + "<|im_start|>assistant\n"
    ### END SOLUTION
