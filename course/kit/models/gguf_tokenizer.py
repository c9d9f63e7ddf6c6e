"""A GGUF file's vocabulary and merges as the text of a `tokenizer.json`."""

import json
from collections.abc import Mapping
from typing import Any

from ..errors import ModelError

NORMAL, CONTROL, USER_DEFINED = 1, 3, 4  # llama.cpp's token types; no text is merged into the last two
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
PRE_TOKENIZERS: dict[str, Any] = {
    "smollm": {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, BYTE_LEVEL]},
    "gpt-2": BYTE_LEVEL,
}


def tokenizer_json(metadata: Mapping[str, Any], name: str) -> str:
    """Return a tokenizer.json for the `tokenizers` library. Raises ModelError for a kind of tokenizer that the kit does not support."""
    kind, pre = metadata.get("tokenizer.ggml.model"), metadata.get("tokenizer.ggml.pre")
    if kind != "gpt2" or pre not in PRE_TOKENIZERS:
        raise ModelError(
            f"{name}: the kit cannot read this GGUF file's tokenizer ({kind!r}, pre-tokenizer {pre!r}); "
            "load the model from a folder with its tokenizer.json"
        )
    for key, what in (("add_bos_token", "BOS before"), ("add_eos_token", "EOS after")):
        if metadata.get(f"tokenizer.ggml.{key}"):
            raise ModelError(f"{name}: this GGUF file's tokenizer puts {what} every text, the kit's adds nothing")
    tokens, merges = (_strings(metadata, f"tokenizer.ggml.{key}", name) for key in ("tokens", "merges"))
    types = metadata.get("tokenizer.ggml.token_type", [NORMAL] * len(tokens))
    if not isinstance(types, list) or len(types) != len(tokens):
        raise ModelError(f"{name}: the GGUF file has {len(tokens):,} tokens and types of others; it is damaged, fetch it again")
    pairs, known = [merge.split(" ") for merge in merges], set(tokens)
    for merge, pair in zip(merges, pairs, strict=True):
        if len(pair) != 2 or not {*pair, "".join(pair)} <= known:
            raise ModelError(f"{name}: the GGUF file's merge {merge!r} is not of its tokens; it is damaged, fetch it again")
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    added = [
        {"id": index, "content": token, **flags, "special": token_type == CONTROL}
        for index, (token, token_type) in enumerate(zip(tokens, types, strict=True))
        if token_type in (CONTROL, USER_DEFINED)
    ]
    model = {
        "type": "BPE",
        "dropout": None,
        "unk_token": None,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": False,
        "ignore_merges": False,
        "vocab": {token: index for index, token in enumerate(tokens)},
        "merges": pairs,
    }
    whole = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": PRE_TOKENIZERS[pre],
        "post_processor": None,
        "decoder": BYTE_LEVEL,
        "model": model,
    }
    return json.dumps(whole, ensure_ascii=False)


def _strings(metadata: Mapping[str, Any], key: str, name: str) -> list[str]:
    found = metadata.get(key)
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise ModelError(f"{name}: the GGUF file has no {key}; it is damaged or no model, fetch it again")
    return found
