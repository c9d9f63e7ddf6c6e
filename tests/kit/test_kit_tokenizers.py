"""The kit's tokenizers: the same ids as the libraries, and tables from which BPE can be done by hand."""

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from tokenizers import Tokenizer as Library

from course.kit import ModelError, Tokenizer, load_tokenizer, paths

TEXTS = [
    "",
    " ",
    "The cat sat on the mat.",
    "  two  spaces, and   three at the end   ",
    "tabs\tand\n\nblank lines \n  indented\r\n",
    "Year 2026, 3.14159, 1,000,000 and 0x7f",
    "I'll say it's what you'd want, isn't it? WE'RE",
    "def f(x):\n    return {k: v**2 for k, v in x.items()}  # π\n",
    "Grüße, naïve façade, Ærøskøbing, Łódź",
    "Привет, мир! Как дела?",
    "東京で寿司を食べました。你好，世界！",
    "안녕하세요 세계",
    "مرحبا بالعالم",
    "नमस्ते दुनिया",
    "สวัสดีชาวโลก",
    "emoji 🙂🚀 family 👩‍👩‍👧‍👦 flag 🇫🇷 skin 👍🏽",
    "combining e\u0301 against \u00e9, zero width\u200bspace, no-break\u00a0space, bom \ufeff",
    "Arabic digits ٣٤٥, superscript x², fraction ½, Roman Ⅷ",
    "control \x00\x01\x1f\x7f characters",
    "<|im_start|>user\nWhat is 2+2?<|im_end|>\n<|im_start|>assistant\n",
    "<|endoftext|><|im_start|><|im_end|> <|im_end| > <|IM_END|>",
    "unbroken" * 40,
]
FOLDERS = {"tiny": paths.TINY, "smollm2": paths.SMOLLM2_TOKENIZER}
needs_smollm2 = pytest.mark.skipif(
    not paths.SMOLLM2.is_file(), reason="SmolLM2 is not on this machine; `python -m course.kit.fetch` fetches it"
)


@pytest.fixture(scope="module", params=sorted(FOLDERS))
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    return load_tokenizer(request.param)


def by_hand(text: str, tokenizer: Tokenizer) -> list[int]:
    """BPE from the tables alone."""
    ids = []
    for piece in tokenizer.pre_tokenize(text):
        if piece in tokenizer.special_tokens:
            ids.append(tokenizer.special_tokens[piece])
            continue
        symbols = [tokenizer.byte_to_symbol[byte] for byte in piece.encode()]
        ranks = tokenizer.ranks
        while ranked := [(ranks[pair], i) for i, pair in enumerate(pairwise(symbols)) if pair in ranks]:
            _, i = min(ranked)
            symbols[i : i + 2] = [symbols[i] + symbols[i + 1]]
        ids += [tokenizer.vocab[symbol] for symbol in symbols]
    return ids


@pytest.mark.parametrize("text", TEXTS)
def test_ids_are_those_of_the_library_and_of_bpe_by_hand(tokenizer: Tokenizer, text: str):
    library = Library.from_file(str(FOLDERS[tokenizer.name] / "tokenizer.json"))
    ids = tokenizer.encode(text)
    assert ids == library.encode(text, add_special_tokens=False).ids
    assert ids == by_hand(text, tokenizer)


@pytest.mark.parametrize("text", TEXTS)
def test_text_comes_back_whole(tokenizer: Tokenizer, text: str):
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert b"".join(map(tokenizer.token_bytes, ids)) == text.encode()
    assert "".join(tokenizer.pre_tokenize(text)) == text


def test_ids_are_those_of_transformers(tokenizer: Tokenizer):
    from transformers import AutoTokenizer

    theirs = AutoTokenizer.from_pretrained(FOLDERS[tokenizer.name])
    for text in TEXTS:
        assert tokenizer.encode(text) == theirs.encode(text, add_special_tokens=False), text
        assert tokenizer.decode(tokenizer.encode(text)) == theirs.decode(theirs.encode(text, add_special_tokens=False))
    assert (tokenizer.bos_token_id, tokenizer.eos_token_id) == (theirs.bos_token_id, theirs.eos_token_id) == (1, 2)


@needs_smollm2
@pytest.mark.slow
def test_smollm2_ids_are_those_that_transformers_reads_from_the_model_file():
    from transformers import AutoTokenizer

    theirs = AutoTokenizer.from_pretrained(paths.MODELS, gguf_file=paths.SMOLLM2.name)
    ours = load_tokenizer("smollm2")
    # Its reader of GGUF forgets that numerals stand alone; no merge joins two ASCII digits, so only others show it.
    for text in (text for text in TEXTS if not any(sign.isnumeric() and sign > "9" for sign in text)):
        assert ours.encode(text) == theirs.encode(text, add_special_tokens=False), text


@needs_smollm2
def test_the_committed_smollm2_tokenizer_is_the_one_in_the_model_file():
    from course.kit.models.gguf_file import GGUFFile
    from course.kit.models.gguf_tokenizer import tokenizer_json

    metadata = GGUFFile(paths.SMOLLM2).metadata
    committed = (paths.SMOLLM2_TOKENIZER / "tokenizer.json").read_text("utf-8")
    assert json.loads(committed) == json.loads(tokenizer_json(metadata, "smollm2"))
    extra = json.loads((paths.SMOLLM2_TOKENIZER / "tokenizer_config.json").read_text("utf-8"))
    assert extra["chat_template"] == metadata["tokenizer.chat_template"]


def test_smollm2_needs_no_model_file(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(paths, "SMOLLM2", tmp_path / "absent.gguf")
    tokenizer = load_tokenizer("smollm2")
    assert len(tokenizer.vocab) == 49152
    assert tokenizer.id_to_token[:3] == ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]


def test_tables_agree_with_each_other(tokenizer: Tokenizer):
    assert [tokenizer.vocab[token] for token in tokenizer.id_to_token] == list(range(len(tokenizer.vocab)))
    assert sorted(tokenizer.byte_to_symbol) == list(range(256))
    assert all(tokenizer.symbol_to_byte[symbol] == byte for byte, symbol in tokenizer.byte_to_symbol.items())
    assert (tokenizer.byte_to_symbol[ord("a")], tokenizer.byte_to_symbol[ord(" ")]) == ("a", "Ġ")
    assert list(tokenizer.ranks.values()) == list(range(len(tokenizer.ranks)))
    assert all(left + right in tokenizer.vocab for left, right in tokenizer.ranks)
    assert tokenizer.special_tokens["<|im_start|>"] == 1
    assert tokenizer.special_tokens["<|im_end|>"] == 2


def test_tiny_has_1024_tokens_three_of_them_special():
    tokenizer = load_tokenizer("tiny")
    assert len(tokenizer.vocab) == 1024
    assert tokenizer.special_tokens == {"<|endoftext|>": 0, "<|im_start|>": 1, "<|im_end|>": 2}
    assert len(tokenizer.ranks) == 1024 - 256 - 3


def test_digits_stand_alone_and_a_special_token_is_one_piece(tokenizer: Tokenizer):
    assert tokenizer.pre_tokenize("in 1984<|im_end|>ok") == ["in", " ", "1", "9", "8", "4", "<|im_end|>", "ok"]


def test_a_character_cut_in_two_decodes_to_the_replacement_character():
    tokenizer = load_tokenizer("tiny")
    ids = tokenizer.encode("🙂")
    assert len(ids) > 1
    assert tokenizer.decode(ids[:-1]) == "\ufffd"
    assert tokenizer.decode(ids) == "🙂"


def test_ids_outside_the_vocabulary_are_named(tokenizer: Tokenizer):
    last = len(tokenizer.vocab) - 1
    for wrong in (last + 1, -1):
        for call in (lambda i: tokenizer.decode([3, i]), tokenizer.token_bytes):
            with pytest.raises(ValueError, match=f"0 to {last}, got {wrong}"):
                call(wrong)


def test_missing_and_damaged_tokenizers_are_named(tmp_path: Path):
    with pytest.raises(ModelError, match=r"tokenizer\.json is missing; copy it"):
        Tokenizer.from_folder(tmp_path, name="x")
    (tmp_path / "tokenizer.json").write_text('{"model": ')
    with pytest.raises(ModelError, match="cannot be read") as error:
        Tokenizer.from_folder(tmp_path, name="x")
    assert "\n" not in str(error.value)


def test_a_tokenizer_that_is_not_byte_level_encodes_but_says_that_it_has_no_bytes():
    from tokenizers import models, pre_tokenizers

    library = Library(models.BPE({"a": 0, "b": 1, "ab": 2, "▁": 3, "▁ab": 4}, [("a", "b"), ("▁", "ab")]))
    library.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer = Tokenizer(library.to_str(), name="spaced", bos_token_id=None, eos_token_id=None)
    assert tokenizer.encode("ab") == [4]
    for call in (lambda: tokenizer.pre_tokenize("ab"), lambda: tokenizer.token_bytes(2)):
        with pytest.raises(ModelError, match=r"spaced: .* not byte-level"):
            call()


def test_a_token_with_a_character_that_is_no_bytes_symbol_is_text_as_the_library_has_it():
    whole = json.loads((paths.TINY / "tokenizer.json").read_text("utf-8"))
    at = max(whole["model"]["vocab"].values())
    (last,) = [token for token, token_id in whole["model"]["vocab"].items() if token_id == at]
    whole["model"]["merges"] = [
        merge for merge in whole["model"]["merges"] if "".join(merge.split(" ") if isinstance(merge, str) else merge) != last
    ]
    odd = "日" * 40
    whole["model"]["vocab"] = {odd if token == last else token: token_id for token, token_id in whole["model"]["vocab"].items()}
    tokenizer = Tokenizer(json.dumps(whole), name="odd", bos_token_id=None, eos_token_id=None)
    assert tokenizer.token_bytes(at) == odd.encode() == tokenizer.decode([at]).encode()
    assert tokenizer.longest == len(odd.encode())


def test_importing_the_kit_stays_light():
    heavy = ["transformers", "matplotlib", "ipywidgets", "gguf", "IPython"]
    code = f"import course.kit, sys; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=paths.ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
