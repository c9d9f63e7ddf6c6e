"""The numbers of the tokens day: worked out by hand, quoted in the lesson, or said of the real model."""

import importlib.util
import json
import math
import re
import tomllib
import unicodedata
from itertools import pairwise

import pytest
import torch

from course.kit import ModelUnavailable, load_model, load_tokenizer, paths
from solutions.tokenizer import DEFAULT_SYSTEM, StreamDecoder, bpe_decode, bpe_encode, merge_pair, render_chat

HAND = tomllib.loads((paths.DATASETS / "hand_computed.toml").read_text(encoding="utf-8"))["tokenizer"]
LESSON = (paths.ROOT / "course" / "day02_tokenizer" / "lesson.md").read_text(encoding="utf-8")
TOKENIZER = load_tokenizer("smollm2")


def samples() -> list[dict[str, str]]:
    with open(paths.DATASETS / "multilingual.jsonl", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def ranks(symbols: list[str]) -> list[int | None]:
    return [TOKENIZER.ranks.get((left, right)) for left, right in pairwise(symbols)]


def test_every_entry_is_recomputed_here() -> None:
    assert set(HAND) == {
        "merge_three", "merge_banana", "merge_borders", "hats", "lowest", "cat_sentence", "japan", "cat_character",
        "smiley", "vocabulary", "left_out", "chat", "article", "context_windows", "history",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["merge_three", "merge_banana", "merge_borders"])
def test_merges_by_hand(name: str) -> None:
    case = HAND[name]
    # A regular expression over symbols with a mark on both sides: another way than the solution's.
    row = "".join(f"<{symbol}>" for symbol in case["symbols"])
    left, right = case["pair"]
    merged = re.findall("<(.*?)>", row.replace(f"<{left}><{right}>", f"<{left + right}>"))
    assert merge_pair(case["symbols"], (left, right)) == merged == case["merged"]
    if name == "merge_three":
        assert merge_pair(["a"] * 4, ("a", "a")) == case["merged_of_four"]
        assert merge_pair(["a"] * 5, ("a", "a")) == case["merged_of_five"]


def test_words_by_hand() -> None:
    case = HAND["hats"]
    assert ranks(list("hats")) == case["ranks"]
    assert ranks(["h", "at", "s"]) == case["ranks_after_one_merge"]
    assert ranks(case["symbols"]) == ranks(case["left_to_right"]) == [None]
    case = HAND["lowest"]
    symbols = list(case["text"])
    for new, rank in zip(case["merged_in_order"], case["merged_ranks"], strict=True):
        at = ranks(symbols).index(rank)
        assert rank == min(r for r in ranks(symbols) if r is not None)
        symbols[at : at + 2] = [symbols[at] + symbols[at + 1]]
        assert symbols[at] == new
    assert symbols == case["symbols"]
    for case in (HAND["hats"], HAND["lowest"], HAND["cat_sentence"]):
        assert TOKENIZER.encode(case["text"]) == bpe_encode(case["text"], TOKENIZER) == case["ids"]
    assert TOKENIZER.pre_tokenize(HAND["cat_sentence"]["text"]) == HAND["cat_sentence"]["pieces"]


@pytest.mark.parametrize("name", ["japan", "cat_character", "smiley"])
def test_characters_by_hand(name: str) -> None:
    case = HAND[name]
    assert case["text"].encode().hex() == case["utf8"]
    assert TOKENIZER.encode(case["text"]) == case["ids"]
    raw = [TOKENIZER.token_bytes(i) for i in case["ids"]]
    assert b"".join(raw).decode() == bpe_decode(case["ids"], TOKENIZER) == case["text"]
    if "pieces" in case:
        decoder = StreamDecoder(TOKENIZER)
        assert [decoder.push(i) for i in case["ids"]] == case["pieces"]
        assert decoder.flush() == ""
    if name == "japan":
        assert [data.hex() for data in raw] == case["token_bytes"]
        assert "".join(data.decode(errors="replace") for data in raw) == case["token_by_token"]
    elif name == "cat_character":
        assert b"".join(raw[:2]).decode(errors="replace") == case["cut_after_two"]
        assert raw[2].decode(errors="replace") == case["last_byte_alone"]
    else:
        assert TOKENIZER.encode(f" {case['text']}") == case["ids_after_space"]


def test_vocabulary_by_hand() -> None:
    case = HAND["vocabulary"]
    missing = [byte for byte, symbol in TOKENIZER.byte_to_symbol.items() if symbol not in TOKENIZER.vocab]
    assert missing == case["bytes_without_token"]
    assert (len(TOKENIZER.special_tokens), 256 - len(missing), len(TOKENIZER.ranks)) == (
        case["num_special"], case["num_bytes"], case["num_merges"],
    )  # fmt: skip
    assert case["num_special"] + case["num_bytes"] + case["num_merges"] == len(TOKENIZER.vocab) == case["size"]
    assert all(TOKENIZER.vocab[left + right] == 252 + rank for (left, right), rank in TOKENIZER.ranks.items())


def test_bytes_without_a_token_are_left_out_before_merging() -> None:
    case = HAND["left_out"]
    for text, ids in zip(case["texts"], case["ids"], strict=True):
        assert TOKENIZER.encode(text) == bpe_encode(text, TOKENIZER) == ids
    assert [TOKENIZER.ranks["=", "="], TOKENIZER.ranks["(", ")"]] == case["ranks"]
    assert TOKENIZER.pre_tokenize("=\x04=") == ["=\x04="]
    missing = HAND["vocabulary"]["bytes_without_token"]
    assert [f"{byte:02X}" for byte in missing if byte < 0x80] == ["04", "06", "13", "14", "16", "1D"]
    assert "(04, 06, 13, 14, 16, 1D)" in LESSON
    assert bpe_decode(bpe_encode("a\x04b", TOKENIZER), TOKENIZER) == "ab"  # "does not come back whole"


def test_the_pieces_are_what_the_lesson_reads_aloud() -> None:
    """Digits first, then GPT-2's regular expression, in the four rows of the lesson's table."""
    regex = pytest.importorskip("regex")
    rows = r"'(?:s|t|re|ve|m|ll|d)| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
    for row in samples():
        parts = regex.split(r"(\p{N})", row["text"])
        pieces = [piece for part in parts for piece in ([part] if regex.fullmatch(r"\p{N}", part) else regex.findall(rows, part))]
        if row["language"] != "special":
            assert TOKENIZER.pre_tokenize(row["text"]) == pieces
    assert not [token for token in TOKENIZER.vocab if re.search("[A-Za-z]Ġ+[A-Za-z]", token)]  # "no token of SmolLM2 holds two words"


def test_what_a_stream_holds_back() -> None:
    """The rule by hand against Python's decoder: the same text, and the same pieces but after E0, ED, F0 and F4."""
    import codecs

    tiny = load_tokenizer("tiny")
    of_byte = {byte: tiny.vocab[symbol] for byte, symbol in tiny.byte_to_symbol.items()}
    for pair in [(a, b) for a in range(0x80, 0x100) for b in range(0x70, 0x100)]:
        decoder, python = StreamDecoder(tiny), codecs.getincrementaldecoder("utf-8")(errors="replace")
        mine = [*(decoder.push(of_byte[byte]) for byte in pair), decoder.flush()]
        theirs = [*(python.decode(bytes([byte])) for byte in pair), python.decode(b"", final=True)]
        assert "".join(mine) == "".join(theirs)
        if pair[0] not in (0xE0, 0xED, 0xF0, 0xF4):
            assert mine == theirs
    assert "E0 80" in LESSON


def test_chat_by_hand() -> None:
    case = HAND["chat"]
    assert render_chat(case["messages"]) == case["text"]
    assert render_chat(case["without_system"]) == case["text_with_default"]
    assert DEFAULT_SYSTEM in case["text_with_default"]


def test_article_and_windows_by_hand() -> None:
    case = HAND["article"]
    for ids, text in ((case["printed"], case["printed_text"]), (case["right"], case["right_text"])):
        assert "".join(case["token_text"][str(i)] for i in ids) == text
    for token, text in case["token_text"].items():
        assert f'{token}: b"{text}"' in LESSON
    case = HAND["context_windows"]
    assert case["tokens"]["GPT-4.1"] == 2**20 - 1000
    assert math.isclose(case["tokens"]["GPT-4.1"] / case["tokens"]["GPT-2"], case["growth"], abs_tol=5e-3)


def test_history_by_hand() -> None:
    case = HAND["history"]
    asked, answered = case["question_tokens"], case["answer_tokens"]
    prompts = [k * (asked + answered) + asked for k in range(10)]
    assert prompts[:3] == case["three_prompts"]
    assert (sum(prompts[:3]), sum(prompts), 10 * asked) == (case["sum_of_three"], case["sum_of_ten"], case["typed_in_ten"])


def test_the_sample_is_what_the_lesson_says() -> None:
    rows = samples()
    parallel = [row for row in rows if row["kind"] == "parallel"]
    others = {"emoji", "digits", "code", "whitespace", "combining", "mixed", "special"}
    languages = {row["language"] for row in rows} - others
    assert (len(parallel), len(rows) - len(parallel), len(languages)) == (14, 71, 28)
    text = "".join(row["text"] for row in rows)
    for what in ("\t", "  ", " \n", "\r\n", "\u200d", "\U0001f1e9\U0001f1ea", "<|im_end|>", "\u0301", "1234567890"):
        assert what in text
    scripts = {unicodedata.name(character).split()[0] for character in text if character.isalpha()}
    assert scripts >= {"LATIN", "CYRILLIC", "GREEK", "ARABIC", "HEBREW", "DEVANAGARI", "THAI", "CJK", "HANGUL", "HIRAGANA"}


def longest_first(text: str) -> list[int]:
    """The longest token with which each piece begins, and so on: the colleague's way."""
    ids = []
    for piece in TOKENIZER.pre_tokenize(text):
        rest = "".join(TOKENIZER.byte_to_symbol[byte] for byte in piece.encode())
        while rest:
            longest = next(rest[:n] for n in range(len(rest), 0, -1) if rest[:n] in TOKENIZER.vocab)
            ids.append(TOKENIZER.vocab[longest])
            rest = rest[len(longest) :]
    return ids


def test_how_often_the_longest_token_is_not_the_right_one() -> None:
    lines = [sample["text"] for sample in samples()]
    assert (len(lines), sum(longest_first(line) != TOKENIZER.encode(line) for line in lines)) == (85, 32)
    assert "The colleague cuts 32 of the 85 lines of section 8 differently" in LESSON
    for word, theirs, ours in (("uncomfortable", "unc om fort able", "un comfort able"), ("STRAWBERRY", "4", "5")):
        for ids, quoted in ((longest_first(word), theirs), (TOKENIZER.encode(word), ours)):
            assert quoted in (" ".join(TOKENIZER.id_to_token[i] for i in ids), str(len(ids)))
            assert quoted in LESSON


def test_what_a_longer_vocabulary_costs() -> None:
    assert (f"{49_152 * 576 / 1e6:.1f}", f"{128_256 * 576 / 1e6:.1f}") == ("28.3", "73.9")
    longer = 134_515_008 + (128_256 - 49_152) * 576
    assert f"{128_256 * 576 / longer:.0%}" == "41%"
    assert "28.3 million of its 134.5 million numbers; 128,256 tokens would be 73.9 million, 41 % of" in LESSON
    assert TOKENIZER.bos_token_id == TOKENIZER.special_tokens["<|im_start|>"]
    assert TOKENIZER.encode("") == [], "nothing is added in front"


def test_words_for_a_token_in_the_languages_that_the_lesson_names() -> None:
    ratio = {
        sample["language"]: len(sample["text"].split()) / len(TOKENIZER.encode(sample["text"]))
        for sample in samples() if sample["kind"] == "parallel"
    }  # fmt: skip
    quoted = {"English": "0.85", "German": "0.46", "Spanish": "0.45", "Finnish": "0.34", "Greek": "0.17"}
    assert {language: f"{ratio[language]:.2f}" for language in quoted} == quoted
    assert "the three sentences above have 28 words and 33 tokens, 0.85" in LESSON
    assert int(1_047_576 * 0.75) == 785_682
    assert ratio["Finnish"] * 1_047_576 < 785_682 / 2
    thai = next(sample["text"] for sample in samples() if sample["language"] == "Thai" and sample["kind"] == "parallel")
    assert (len(thai.split()), len(TOKENIZER.encode(thai))) == (5, 219)


def test_costs_that_the_lesson_tells() -> None:
    tokens = {row["language"]: len(bpe_encode(row["text"], TOKENIZER)) for row in samples() if row["kind"] == "parallel"}
    quoted = {"English": 33, "German": 56, "Chinese": 72, "Russian": 111, "Hindi": 188, "Thai": 219}
    assert {language: tokens[language] for language in quoted} == quoted
    assert f"{tokens['Thai'] / tokens['English']:.2f}" == "6.64"
    assert tokens["English"] == min(tokens.values())
    sizes = {row["language"]: len(row["text"].encode()) for row in samples() if row["kind"] == "parallel"}
    table = torch.tensor([[sizes[language], tokens[language]] for language in tokens], dtype=torch.float64)
    assert f"{torch.corrcoef(table.T)[0, 1]:.2f}" == "0.87"
    assert (sizes["Chinese"], sizes["English"]) == (135, 143)
    assert tokens["Chinese"] > 2 * tokens["English"]
    assert tokens["Thai"] == max(tokens.values())
    count = {text: len(bpe_encode(text, TOKENIZER)) for text in (" strawberry", "strawberry", "STRAWBERRY", "👨‍👩‍👧‍👦")}
    assert list(count.values()) == [1, 3, 5, 18]
    assert bpe_encode(" strawberry", TOKENIZER) == [35199]
    assert len(bpe_encode(" NotImplementedError", TOKENIZER)) == 1
    assert len(bpe_encode("The cat sat on the mat".replace(" ", "\u00a0"), TOKENIZER)) == 11
    assert len(bpe_encode(render_chat([{"role": "user", "content": "Hi"}]), TOKENIZER)) == 31
    assert len("<|hello|>") == 9
    assert "<|hello|>" not in TOKENIZER.special_tokens


def test_the_twins_have_the_same_length() -> None:
    source = re.search(r"^twins = \[.*?^\]", LESSON, flags=re.M | re.S)
    assert source is not None
    namespace: dict = {}
    exec(source[0], namespace)
    for first, second, _ in namespace["twins"]:
        assert len(unicodedata.normalize("NFC", first)) == len(unicodedata.normalize("NFC", second))
        assert len(bpe_encode(first, TOKENIZER)) < len(bpe_encode(second, TOKENIZER))


@pytest.mark.parametrize("name", ["smollm2", "tiny"])
def test_every_line_of_the_sample_as_the_library_does(name: str) -> None:
    tokenizer = load_tokenizer(name)
    for row in samples():
        ids = bpe_encode(row["text"], tokenizer)
        assert ids == tokenizer.encode(row["text"])
        decoder = StreamDecoder(tokenizer)
        assert "".join([*map(decoder.push, ids), decoder.flush()]) == bpe_decode(ids, tokenizer)
        if name == "smollm2":
            assert bpe_decode(ids, tokenizer) == row["text"]


@pytest.mark.slow
def test_the_template_is_the_one_in_the_model_file() -> None:
    if not paths.SMOLLM2.is_file():
        pytest.skip("SmolLM2 is not here: datasets/models/ holds no GGUF file")
    assert importlib.util.find_spec("gguf"), "gguf is a requirement of the course"
    from gguf import GGUFReader

    from autograder.checking.hidden.test_tokenizer import CHAT_TEMPLATE

    field = GGUFReader(paths.SMOLLM2).fields["tokenizer.chat_template"]
    assert field.contents().replace("\\n", "\n") == CHAT_TEMPLATE.replace("\\n", "\n")


@pytest.mark.slow
def test_the_real_model_does_what_the_lesson_says() -> None:
    try:
        model = load_model("smollm2")
    except ModelUnavailable as error:
        pytest.skip(f"SmolLM2 is not here: {error}")

    def answer(text: str, num_tokens: int) -> list[int]:
        ids, prompt = bpe_encode(text, TOKENIZER), len(bpe_encode(text, TOKENIZER))
        with torch.no_grad():
            while len(ids) < prompt + num_tokens and ids[-1] != TOKENIZER.eos_token_id:
                ids.append(int(model(torch.tensor([ids]))[0, -1].argmax()))
        return ids[prompt:]

    question = "What is the capital of France?"
    assert answer(question, 1) == [TOKENIZER.special_tokens["<|im_end|>"]]
    said = bpe_decode(answer(render_chat([{"role": "user", "content": question}]), 12), TOKENIZER)
    assert said == "The capital of France is Paris.<|im_end|>"
    source = re.search(r"^sentences = \[.*?^\]", LESSON, flags=re.M | re.S)
    assert source is not None
    namespace: dict = {}
    exec(source[0], namespace)
    more = 0
    for before, after in namespace["sentences"]:
        found = []
        for cut in (["Ġhats"], ["Ġha", "ts"]):
            word, rest = [TOKENIZER.vocab[symbol] for symbol in cut], bpe_encode(after, TOKENIZER)
            ids = torch.tensor(bpe_encode(before, TOKENIZER) + word + rest)
            with torch.no_grad():
                own = model(ids[None])[0, :-1].log_softmax(-1).gather(-1, ids[1:, None])[:, 0]
            found.append((float(own[-len(rest) - len(word) : -len(rest)].sum()), float(own[-len(rest) :].mean())))
        (right, after_right), (wrong, after_wrong) = found
        assert right - wrong > 16
        assert abs(after_right - after_wrong) < 0.6
        more += after_wrong > after_right
    assert more == 1
    decoder = StreamDecoder(TOKENIZER)
    pieces = [decoder.push(i) for i in answer(render_chat([{"role": "user", "content": "Say hello in Japanese."}]), 6)]
    assert "" in pieces
    assert any(unicodedata.name(c).startswith("HIRAGANA") for c in "".join(pieces))
