"""Checks of the tokens day that students may read."""

import functools
import json
from collections.abc import Sequence

from autograder.authoring import CheckFailed, checks, equal, show
from course.kit import Tokenizer, load_tokenizer
from course.kit.paths import DATASETS

LOWEST_RANK = "In each round merge the neighbouring pair with the lowest rank, wherever it stands; not the first from the left."
BY_PIECE = "Encode each piece of tokenizer.pre_tokenize(text) by itself: no merge reaches across the border of two pieces."
SPECIAL = "A piece that is in tokenizer.special_tokens is one id; everything else, whatever it looks like, is text."
ALL_BYTES = "Join the bytes of all tokens first, and decode the bytes once: a character may be spread over tokens."
REPLACE = 'Decode with errors="replace": each broken character becomes U+FFFD, and nothing is dropped.'
HOLD_BACK = "Keep the bytes of a character that is not complete yet, and give it out with the push that completes it."
AT_ONCE = "Hold back only the bytes of an incomplete character: everything before them is given out at once."
LEFT_OVER = 'flush decodes what is left with errors="replace"; it may not be dropped.'
BROKEN = "The pieces, joined, are bpe_decode of all ids: a broken character becomes one U+FFFD and the text goes on."
BROKEN_FOR_EVER = "A broken byte never becomes a character: do not wait for it. What follows it is given out as it comes."
OWN_STATE = "Make the buffer in __init__, on self: one that belongs to the class is shared by all streams."
TEMPLATE = "<|im_start|>role, a line end, the content, <|im_end|>, a line end; at last <|im_start|>assistant, a line end."
DEFAULT = "Only if the first message is no system message, one that says DEFAULT_SYSTEM stands before it."


@functools.cache
def library(name: str = "smollm2") -> Tokenizer:
    """The kit's tokenizer, whose encode is the tokenizers library's: the oracle. Read once; it takes a second."""
    return load_tokenizer(name)


def sample_texts(*languages: str) -> list[str]:
    """Texts of datasets/multilingual.jsonl, of these labels or all."""
    lines = (DATASETS / "multilingual.jsonl").read_text(encoding="utf-8").split("\n")
    samples = [json.loads(line) for line in lines if line]
    return [s["text"] for s in samples if not languages or s["language"] in languages]


def same_text(got: object, want: str, *, cause: str, what: str = "wrong text") -> None:
    """Fails unless `got` is the text `want`, and shows the place where they part, with spaces and line ends visible."""
    if not isinstance(got, str):
        raise CheckFailed(f"{what}: a str was due", expected=repr(want), got=repr(got), cause=cause)
    if got != want:
        at = next((i for i, (g, w) in enumerate(zip(got, want, strict=False)) if g != w), min(len(got), len(want)))
        near = slice(max(0, at - 20), at + 20)
        place = f", from character {at} on" if len(want) > 40 else ""
        raise CheckFailed(what + place, expected=repr(want[near]), got=repr(got[near]), cause=cause)


def same_ids(student, texts: list[str], cause: str, name: str = "smollm2") -> None:
    """Fails unless bpe_encode of every text is what the tokenizers library gives; shows the tokens from where they part."""
    oracle, tokenizer = library(name), student.tokenizer(name)
    for text in texts:
        got, want = student.bpe_encode(text, tokenizer), oracle.encode(text)
        what = f"wrong ids for {show(repr(text), 60)}"
        if not (isinstance(got, list | tuple) and all(isinstance(i, int) for i in got)):
            raise CheckFailed(what, expected=want, got=got, cause="bpe_encode returns a list of token ids, whole numbers.")
        if list(got) != want:
            at = next((i for i, (g, w) in enumerate(zip(got, want, strict=False)) if g != w), min(len(got), len(want)))
            raise CheckFailed(f"{what}, from place {at} on", expected=named(want, at, oracle), got=named(got, at, oracle), cause=cause)


def named(ids: Sequence[int], at: int, oracle: Tokenizer) -> str:
    """Four ids from a place on, each with its token."""
    known = len(oracle.id_to_token)
    shown = [f"{i} {oracle.id_to_token[i]!r}" if 0 <= i < known else f"{i} (no token)" for i in ids[at : at + 4]]
    return ", ".join([*shown, *["..."] * (len(ids) > at + 4)]) or "the end"


def pieces_and_rest(student, ids: list[int]) -> tuple[list[str], str]:
    """What each push gives, and the flush."""
    decoder = student.StreamDecoder(student.tokenizer("smollm2"))
    pieces = [decoder.push(i) for i in ids]
    rest = decoder.flush()
    if not all(isinstance(piece, str) for piece in [*pieces, rest]):
        raise CheckFailed(
            "push and flush must return text",
            expected="str",
            got=[*pieces, rest],
            cause='Return "" where nothing is given out.',
        )
    return pieces, rest


# merge_pair


@checks("merge_pair")
def test_pair_of_equal_symbols(student, hand):
    """three, four and five equal symbols in a row"""
    case = hand["merge_three"]
    pair = tuple(case["pair"])
    for count, want in ((3, "merged"), (4, "merged_of_four"), (5, "merged_of_five")):
        got = student.merge_pair(["a"] * count, pair)
        equal(
            got,
            case[want],
            cause="Go from left to right; a symbol that has just been merged is not used a second time.",
        )


@checks("merge_pair")
def test_every_occurrence(student, hand):
    """the pair (a, n) in banana, which stands there twice"""
    case = hand["merge_banana"]
    got = student.merge_pair(case["symbols"], tuple(case["pair"]))
    equal(got, case["merged"], cause="Merge every occurrence of the pair, not only the first.")


@checks("merge_pair")
def test_symbols_not_letters(student, hand):
    """the pair (ab, c) is not the pair (a, bc), and not a part of longer symbols"""
    cause = "Compare symbol with symbol: in a text that was joined first, the borders between symbols are lost."
    case = hand["merge_borders"]
    equal(student.merge_pair(case["symbols"], tuple(case["pair"])), case["merged"], cause=cause)
    got = student.merge_pair(["xa", "b", "a", "bx", "a", "b"], ("a", "b"))
    equal(got, ["xa", "b", "a", "bx", "ab"], cause=cause)


@checks("merge_pair")
def test_ends_of_the_list(student):
    """pairs at both ends, no pair, one symbol, none"""
    cause = "The last symbol has no right neighbour: keep it unless the pair before has used it."
    for symbols, want in (
        (["x", "y", "z", "x", "y"], ["xy", "z", "xy"]),
        (["x", "y"], ["xy"]),
        (["y", "x"], ["y", "x"]),
        (["z", "z", "x"], ["z", "z", "x"]),
        (["x"], ["x"]),
        ([], []),
    ):
        equal(student.merge_pair(symbols, ("x", "y")), want, cause=cause, what=f"wrong result for {symbols} with (x, y)")


@checks("merge_pair")
def test_symbols_are_not_changed(student):
    """the list that was given stays as it was"""
    got = student.merge_pair(["t", "h", "e", "t", "h"], ("t", "h"), _unchanged=True)
    equal(got, ["th", "e", "th"], cause="Build a new list; del, pop and item assignment write into the caller's.")


# bpe_encode


@checks("bpe_encode")
def test_lowest_rank_first(student, hand):
    """hats and lowest: merges by rank"""
    for case in (hand["hats"], hand["lowest"]):
        got = student.bpe_encode(case["text"], student.tokenizer("smollm2"))
        equal(got, case["ids"], cause=LOWEST_RANK, what=f"wrong ids for {case['text']!r}")


@checks("bpe_encode")
def test_cat_sentence(student, hand):
    """the cat sat on the mat"""
    case = hand["cat_sentence"]
    got = student.bpe_encode(case["text"], student.tokenizer("smollm2"))
    equal(
        got,
        case["ids"],
        cause="Six pieces, six ids; nothing is added in front or behind, and no space is lost or added.",
    )


@checks("bpe_encode")
def test_pieces_stay_apart(student):
    """no merge across the border of two pieces"""
    same_ids(
        student,
        ["  mat", "two  spaces", "1000000", "don't", "cat\n\n  sat", "x==y", *sample_texts("whitespace", "digits")],
        BY_PIECE,
    )


@checks("bpe_encode")
def test_bytes_of_other_scripts(student, hand):
    """characters of several bytes"""
    tokenizer = student.tokenizer("smollm2")
    for case in (hand["japan"], hand["cat_character"]):
        got = student.bpe_encode(case["text"], tokenizer)
        equal(got, case["ids"], cause="Begin with one symbol for each byte of piece.encode(), not for each character.")
    same_ids(student, sample_texts("emoji", "combining", "Hindi"), "Begin with one symbol for each byte of the piece.")


@checks("bpe_encode")
def test_special_tokens(student):
    """a special token is one id, and what only looks like one is text"""
    same_ids(student, sample_texts("special"), SPECIAL)


@checks("bpe_encode", weight=2)
def test_whole_sample(student):
    """every line of the multilingual sample, against the tokenizers library"""
    same_ids(
        student,
        sample_texts(),
        "This line is one that your rule does not cover yet: compare the pieces, then the symbols.",
    )


# bpe_decode


@checks("bpe_decode")
def test_decode_cat_sentence(student, hand):
    """six ids back to the sentence"""
    case = hand["cat_sentence"]
    tokenizer = student.tokenizer("smollm2")
    same_text(
        student.bpe_decode(case["ids"], tokenizer),
        case["text"],
        cause="A token's bytes hold its space: add none, remove none.",
    )
    same_text(student.bpe_decode(case["ids"][1:3], tokenizer), " cat sat", cause="A space in front belongs to the text.")


@checks("bpe_decode")
def test_character_over_two_tokens(student, hand):
    """a character that is spread over tokens"""
    tokenizer = student.tokenizer("smollm2")
    for case in (hand["japan"], hand["cat_character"]):
        same_text(student.bpe_decode(case["ids"], tokenizer), case["text"], cause=ALL_BYTES)


@checks("bpe_decode")
def test_broken_characters(student, hand):
    """bytes that are no UTF-8"""
    case, tokenizer = hand["cat_character"], student.tokenizer("smollm2")
    first, second, third = case["ids"]
    letter = library().vocab["A"]
    for ids, want in (
        ([first, second], case["cut_after_two"]),
        ([third], case["last_byte_alone"]),
        ([letter, first, letter], "A\ufffdA"),
        ([letter, third, first, second], "A\ufffd\ufffd"),
    ):
        same_text(student.bpe_decode(ids, tokenizer), want, cause=REPLACE, what=f"wrong text for {ids}")


@checks("bpe_decode")
def test_round_trip(student):
    """what the library encoded comes back, for every line of the sample"""
    oracle, tokenizer = library(), student.tokenizer("smollm2")
    for text in sample_texts():
        same_text(student.bpe_decode(oracle.encode(text), tokenizer), text, cause=ALL_BYTES, what="the text has changed")


# StreamDecoder


@checks("StreamDecoder")
def test_character_with_its_last_token(student, hand):
    """a character appears with the token that completes it"""
    for case in (hand["japan"], hand["cat_character"]):
        pieces, rest = pieces_and_rest(student, case["ids"])
        equal(pieces, case["pieces"], cause=HOLD_BACK, what=f"wrong pieces for {case['text']}")
        equal(rest, "", cause="What was given out is no longer held back.", what="wrong flush")


@checks("StreamDecoder")
def test_complete_text_at_once(student, hand):
    """complete text is not held back"""
    case = hand["cat_sentence"]
    pieces, rest = pieces_and_rest(student, case["ids"])
    equal(pieces, case["pieces"], cause=AT_ONCE)
    equal(rest, "", cause=AT_ONCE, what="wrong flush")


@checks("StreamDecoder")
def test_stream_cut_off(student, hand):
    """the stream ends inside a character"""
    case = hand["cat_character"]
    pieces, rest = pieces_and_rest(student, case["ids"][:2])
    equal(pieces, ["", ""], cause=HOLD_BACK)
    equal(rest, case["cut_after_two"], cause=LEFT_OVER, what="wrong flush")


@checks("StreamDecoder")
def test_broken_byte_in_the_stream(student, hand):
    """a character that breaks off in mid-stream"""
    first, second, third = hand["cat_character"]["ids"]
    letter = library().vocab["A"]
    for ids, want in (
        ([first, letter], "\ufffdA"),
        ([third, letter], "\ufffdA"),
        ([letter, first, second, letter, letter], "A\ufffdAA"),
        ([first, first, second, third], "\ufffd猫"),
    ):
        pieces, rest = pieces_and_rest(student, ids)
        same_text("".join([*pieces, rest]), want, cause=BROKEN)
        equal(rest, "", cause=BROKEN_FOR_EVER, what="complete text was held back until the flush")


@checks("StreamDecoder")
def test_complete_and_incomplete_in_one_token(student):
    """a token that holds a whole character and the beginning of the next"""
    oracle = library()
    for text, want in (
        (" 猫", [" ", "", "猫"]),
        (" 😂", [" ", "😂"]),
    ):  # the first token is the space and one byte or three
        pieces, rest = pieces_and_rest(student, oracle.encode(text))
        equal(pieces, want, cause=AT_ONCE)
        equal(rest, "", cause=AT_ONCE, what="wrong flush")


@checks("StreamDecoder")
def test_two_streams(student, hand):
    """two streams at the same time"""
    case, tokenizer = hand["cat_character"], student.tokenizer("smollm2")
    one, two = student.StreamDecoder(tokenizer), student.StreamDecoder(tokenizer)
    pieces = [(one.push(i), two.push(i)) for i in case["ids"]]
    equal(pieces, [("", ""), ("", ""), (case["text"], case["text"])], cause=OWN_STATE)


@checks("StreamDecoder")
def test_stream_joins_to_the_whole(student):
    """the pieces of a stream join to the text"""
    oracle = library()
    for text in (*sample_texts("emoji")[:3], *sample_texts("special")[:2], *sample_texts("Thai")[1:]):
        pieces, rest = pieces_and_rest(student, oracle.encode(text))
        same_text("".join([*pieces, rest]), text, cause=HOLD_BACK, what="the text has changed")


# render_chat


@checks("render_chat")
def test_system_and_user(student, hand):
    """a system message and a question"""
    case = hand["chat"]
    same_text(student.render_chat(case["messages"]), case["text"], cause=TEMPLATE)


@checks("render_chat")
def test_default_system(student, hand):
    """no system message: the default one"""
    case = hand["chat"]
    same_text(student.render_chat(case["without_system"]), case["text_with_default"], cause=DEFAULT)


@checks("render_chat")
def test_longer_conversation(student):
    """history, oldest first"""
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hello. What is it?"},
        {"role": "user", "content": "Two and two?"},
    ]
    want = (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHello<|im_end|>\n"
        "<|im_start|>assistant\nHello. What is it?<|im_end|>\n<|im_start|>user\nTwo and two?<|im_end|>\n"
        "<|im_start|>assistant\n"
    )
    same_text(student.render_chat(messages), want, cause=TEMPLATE)


@checks("render_chat")
def test_content_as_it_is(student):
    """the content is copied as it is"""
    content = "  def f():\n\treturn 1  \n\n"
    got = student.render_chat([{"role": "system", "content": ""}, {"role": "user", "content": content}])
    want = f"<|im_start|>system\n<|im_end|>\n<|im_start|>user\n{content}<|im_end|>\n<|im_start|>assistant\n"
    same_text(got, want, cause="Trim nothing: spaces and line ends of the content are the user's.")


@checks("render_chat")
def test_messages_are_not_changed(student, hand):
    """the messages that were given stay as they were"""
    case = hand["chat"]
    got = student.render_chat(case["without_system"], _unchanged=True)
    same_text(got, case["text_with_default"], cause="Build a new list: insert and append write into the caller's.")
