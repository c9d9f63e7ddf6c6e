"""Visible checks of the tokens day."""

import functools
import json
import re
from collections.abc import Sequence

from autograder.authoring import CheckFailed, checks, equal, show, that
from autograder.sandbox.protocol.batch import CallBatch
from course.kit import Tokenizer, load_tokenizer
from course.kit.paths import DATASETS

OTHER_ORDER = "Other pairs were merged first: in each round it is the pair of lowest rank, wherever it is."


@functools.cache
def library(name: str = "smollm2") -> Tokenizer:
    """The kit's tokenizer, whose encode is the tokenizers library's: the oracle. Read once; it takes a second."""
    return load_tokenizer(name)


def sample_texts(*languages: str) -> list[str]:
    """Texts of datasets/multilingual.jsonl, of these labels or all."""
    lines = (DATASETS / "multilingual.jsonl").read_text(encoding="utf-8").split("\n")
    samples = [json.loads(line) for line in lines if line]
    return [s["text"] for s in samples if not languages or s["language"] in languages]


def cause_of_exception(exercise: str, name: str, message: str) -> str | None:
    """Return the cause that an exception proves here, beyond what it proves everywhere."""
    if exercise != "bpe_encode":
        return None
    if name == "ValueError" and re.match(r"min\(\) (arg|iterable argument) is (an )?empty", message):
        return "There is no pair to take the lowest of: a piece of one symbol has none, and nothing of it is merged."
    if name != "KeyError":
        return None
    if message.isdecimal() and int(message) > 255:
        return "A byte is 255 at the most. A larger number is a character's (`ord`), or an id; `piece.encode()` gives a piece's bytes."
    if found := re.fullmatch(r"'(.)'", message):
        if found[1] not in library().symbol_to_byte:
            return "That is a character of the text. The tables go by bytes: `byte_to_symbol` has a letter for each of `piece.encode()`."
        if found[1] not in library().vocab:
            return "That letter stands for a byte without a token, and such a byte is left out before anything is merged."
    if message.startswith("('"):
        return "A pair that is never merged has no rank: ask first whether it is in `ranks`."
    return None


def same_text(got: object, want: str, *, what: str = "wrong text", suspects: Sequence[tuple[str, str]] = ()) -> None:
    """Fails unless `got` is the text `want`, and shows the place where they part, with spaces and line ends visible.

    suspects: (text that a known mistake gives, a sentence about it); said only where `got` is that text.
    """
    if not isinstance(got, str):
        equal(got, want, what=f"{what}: a str is expected")
    elif got != want:
        at = parting(got, want)
        near = slice(max(0, at - 20), at + 20)
        place = f", from character {at} on" if len(want) > 40 else ""
        cause = next((sentence for text, sentence in suspects if got == text), None)
        raise CheckFailed(what + place, expected=repr(want[near]), got=repr(got[near]), cause=cause, values=got)


def parting(got: Sequence, want: Sequence) -> int:
    """The first place where two sequences differ."""
    return next((i for i, (g, w) in enumerate(zip(got, want, strict=False)) if g != w), min(len(got), len(want)))


def same_ids(student, texts: list[str], name: str = "smollm2") -> None:
    """Fails unless bpe_encode of every text is what the tokenizers library gives; shows the tokens from where they part."""
    oracle, tokenizer = library(name), student.tokenizer(name)
    for text in texts:
        got, want = student.bpe_encode(text, tokenizer), oracle.encode(text)
        what = f"wrong ids for {show(repr(text), 60)}" + (f" with the tokenizer {name}" if name != "smollm2" else "")
        if not (isinstance(got, list | tuple) and all(isinstance(i, int) for i in got)):
            raise CheckFailed(what, expected=want, got=got, cause="bpe_encode returns a list of token ids, whole numbers.")
        if list(got) != want:
            at = parting(got, want)
            raise CheckFailed(
                f"{what}, from place {at} on",
                expected=named(want, at, oracle),
                got=named(got, at, oracle),
                values=list(got),
            )


def named(ids: Sequence[int], at: int, oracle: Tokenizer) -> str:
    """Four ids from a place on, each with its token."""
    known = len(oracle.id_to_token)
    shown = [f"{i} {oracle.id_to_token[i]!r}" if 0 <= i < known else f"{i} (no token)" for i in ids[at : at + 4]]
    return ", ".join([*shown, *["..."] * (len(ids) > at + 4)]) or "the end"


def pieces_and_rest(student, ids: list[int], name: str = "smollm2") -> tuple[list[str], str]:
    """Return the text of each push, and that of flush."""
    decoder = student.StreamDecoder(student.tokenizer(name))
    pieces = [decoder.push(i) for i in ids]
    rest = decoder.flush()
    for given in (*pieces, rest):
        that(
            isinstance(given, str),
            "push and flush must return text",
            expected="str",
            got=[*pieces, rest],
            cause='Return "" where nothing is given out.' if given is None else None,
        )
    return pieces, rest


def ids_of_bytes(raw: bytes) -> list[int]:
    """One token of `tiny` for each byte: its vocabulary has all 256."""
    oracle = library("tiny")
    return [oracle.vocab[oracle.byte_to_symbol[byte]] for byte in raw]


def merged(student, symbols: list[str], pair: tuple[str, str], want: list[str], *, shown: str | None = None) -> None:
    """One call of merge_pair, whose list must stay as it was. shown: a long list in short form, for the message."""
    got = student.merge_pair(symbols, pair, _unchanged=True)
    equal(got, want, what=f"wrong result for {shown or symbols} with {pair}")


def merged_once_changed(student, symbols: list[str], pair: tuple[str, str], want: list[str]) -> None:
    """Two equal calls of merge_pair, whose caller appends to the first one's result before the second."""
    batch = CallBatch()
    first = batch.call("merge_pair", symbols, pair)
    batch.method(first, "append", "more")
    second = batch.call("merge_pair", symbols, pair)
    outcomes = student.play(batch)
    for outcome in outcomes:
        if outcome.error:
            raise outcome.error
    got = outcomes[second.step].value
    cause = "Both calls give one and the same list, as a cache does: give each caller a list of its own."
    what = f"wrong second result for {symbols} with {pair}, after an append to the first"
    equal(got, want, what=what, suspects=[([*want, "more"], cause)])


# merge_pair


@checks("merge_pair")
def test_pair_of_equal_symbols(student, hand):
    """three, four or five equal symbols in a row are paired from the left, without overlap"""
    case = hand["merge_three"]
    pair = tuple(case["pair"])
    for count, want in ((3, "merged"), (4, "merged_of_four"), (5, "merged_of_five")):
        merged(student, ["a"] * count, pair, case[want])


@checks("merge_pair")
def test_every_occurrence(student, hand):
    """every occurrence of (a, n) is merged: in banana, after an unpaired a, and in a list of 2,100 symbols"""
    case = hand["merge_banana"]
    merged(student, case["symbols"], tuple(case["pair"]), case["merged"])
    merged(student, ["a", "n", "a", "n", "a", "s", "a", "n"], ("a", "n"), ["an", "an", "a", "s", "an"])
    merged(student, ["a", "n", "s"] * 700, ("a", "n"), ["an", "s"] * 700, shown="['a', 'n', 's'] * 700")


@checks("merge_pair")
def test_symbols_not_letters(student, hand):
    """whole symbols are compared: (ab, c) does not match (a, bc), and (a, b) does not match (xa, b)"""
    case = hand["merge_borders"]
    merged(student, case["symbols"], tuple(case["pair"]), case["merged"])
    merged(student, ["xa", "b", "a", "bx", "a", "b"], ("a", "b"), ["xa", "b", "a", "bx", "ab"])


@checks("merge_pair")
def test_case_spaces_and_length(student):
    """symbols are compared exactly: upper and lower case, spaces, punctuation, and symbols of 32 characters"""
    merged(student, ["T", "h", "t", "H", "t", "h"], ("t", "h"), ["T", "h", "t", "H", "th"])
    merged(student, [" ", "t", " ", " ", "t"], (" ", "t"), [" t", " ", " t"])
    merged(student, ["=" * 32] * 3, ("=" * 32, "=" * 32), ["=" * 64, "=" * 32])
    merged(student, ["e", "t", ".", ".", "."], (".", "."), ["e", "t", "..", "."])
    merged(student, ["a", "(", ")", "*", "=", "("], ("*", "="), ["a", "(", ")", "*=", "("])


@checks("merge_pair")
def test_ends_of_the_list(student):
    """a pair at either end of the list is merged; a list without the pair, with one symbol or empty gives an equal list"""
    for symbols, want in (
        (["x", "y"], ["xy"]),
        (["y", "x"], ["y", "x"]),
        (["x", "y", "z", "x", "y"], ["xy", "z", "xy"]),
        (["z", "z", "x"], ["z", "z", "x"]),
        (["x"], ["x"]),
        ([], []),
    ):
        merged(student, symbols, ("x", "y"), want)


@checks("merge_pair")
def test_symbols_are_not_changed(student):
    """the given list is not changed, and every call returns a new list"""
    merged(student, ["t", "h", "e", "t", "h"], ("t", "h"), ["th", "e", "th"])
    merged(student, ["t", "h"], ("t", "h"), ["th"])
    merged(student, ["t", "h", "e"], ("t", "h"), ["th", "e"])
    merged(student, ["e", "t", "h"], ("t", "h"), ["e", "th"])
    first, second = student.merge_pair.again([["h", "e", "n"], ("t", "h")], [["c", "a", "t"], ("t", "h")])
    equal(first, ["h", "e", "n"], what="wrong result for ['h', 'e', 'n'] with ('t', 'h') once the given list holds other symbols")
    equal(second, ["c", "a", "t"], what="wrong result for ['c', 'a', 't'] with ('t', 'h')")
    merged_once_changed(student, ["s", "t", "h"], ("t", "h"), ["s", "th"])


# bpe_encode


def from_the_left(word: str) -> list[int]:
    """The ids if each round merges the first pair from the left that has any rank."""
    oracle, symbols = library(), list(word)
    while places := [i for i in range(len(symbols) - 1) if (symbols[i], symbols[i + 1]) in oracle.ranks]:
        symbols[places[0] : places[0] + 2] = ["".join(symbols[places[0] : places[0] + 2])]
    return [oracle.vocab[symbol] for symbol in symbols]


@checks("bpe_encode")
def test_lowest_rank_first(student, hand):
    """lowest and hats: the pair of lowest rank is merged first"""
    for case in (hand["lowest"], hand["hats"]):
        got = student.bpe_encode(case["text"], student.tokenizer("smollm2"))
        suspects = [([library().vocab[letter] for letter in case["text"]], "These are the ids of the single bytes: nothing was merged.")]
        if case is hand["lowest"]:  # in hats other orders give the same
            suspects.append((from_the_left(case["text"]), OTHER_ORDER))
        equal(got, case["ids"], what=f"wrong ids for {case['text']!r}", suspects=suspects)


@checks("bpe_encode")
def test_cat_sentence(student, hand):
    """the cat sat on the mat: six pieces give six ids, and nothing is added before or after"""
    case = hand["cat_sentence"]
    equal(student.bpe_encode(case["text"], student.tokenizer("smollm2")), case["ids"])


@checks("bpe_encode")
def test_pieces_stay_apart(student):
    """no merge crosses the border between two pieces"""
    texts = ["  mat", "two  spaces", "1000000", "don't", "cat\n\n  sat", "x==y"]
    same_ids(student, [*texts, *sample_texts("whitespace", "digits")])


@checks("bpe_encode")
def test_bytes_of_other_scripts(student, hand):
    """characters of several UTF-8 bytes (kanji, Hindi, emoji, combining marks) give the right ids"""
    tokenizer = student.tokenizer("smollm2")
    for case in (hand["japan"], hand["cat_character"]):
        equal(student.bpe_encode(case["text"], tokenizer), case["ids"])
    same_ids(student, sample_texts("emoji", "combining", "Hindi"))


@checks("bpe_encode")
def test_special_tokens(student):
    """a special token gives one id; text that only resembles a special token is encoded as ordinary text"""
    texts = ["<||>", "a <|> b", "<|im_start|><||>", "|><|", "<|hello|>", "<repo_name>course<file_sep>a.py"]
    same_ids(student, [*sample_texts("special"), *texts])


@checks("bpe_encode")
def test_bytes_without_a_token(student, hand):
    """a byte without a token is left out before anything is merged; a control character that has a token is kept"""
    case, tokenizer = hand["left_out"], student.tokenizer("smollm2")
    for text, want in zip(case["texts"], case["ids"], strict=True):
        equal(student.bpe_encode(text, tokenizer), want, what=f"wrong ids for {text!r}")
    same_ids(student, ["a\u0001b", "=\u0000=", "\u001b[1m"])


@checks("bpe_encode")
def test_shortest_and_longest(student):
    """the empty text, single characters, and words of 45 and 300 letters give the right ids"""
    long = "".join(filter(str.isalpha, "".join(sample_texts("English"))))[:300]  # it takes more than a hundred merges
    same_ids(student, ["", "a", " ", "é", "pneumonoultramicroscopicsilicovolcanoconiosis", long])


@checks("bpe_encode")
def test_two_tokenizers(student):
    """two tokenizers used in turn: each call gives the ids of the tokenizer passed to that call"""
    for name in ("smollm2", "tiny", "smollm2"):
        same_ids(student, ["The cat sat on the mat", "lowest", "<|im_end|>"], name)


@checks("bpe_encode", weight=2)
def test_whole_sample(student):
    """every line of the multilingual sample gives the same ids as the tokenizers library"""
    same_ids(student, sample_texts())


# bpe_decode


@checks("bpe_decode")
def test_decode_cat_sentence(student, hand):
    """six ids decode to The cat sat on the mat, an empty list to an empty text; the ids are not changed"""
    case = hand["cat_sentence"]
    tokenizer = student.tokenizer("smollm2")
    same_text(student.bpe_decode(case["ids"], tokenizer, _unchanged=True), case["text"])
    same_text(student.bpe_decode([], tokenizer), "", what="wrong text for no ids")
    suspects = [("cat sat", "A space in front belongs to the text: it is a byte of the first token.")]
    same_text(student.bpe_decode(case["ids"][1:3], tokenizer), " cat sat", suspects=suspects)


@checks("bpe_decode")
def test_character_over_two_tokens(student, hand):
    """a character whose bytes are spread over several tokens is decoded correctly"""
    tokenizer = student.tokenizer("smollm2")
    for case in (hand["japan"], hand["cat_character"]):
        alone = "".join(library().token_bytes(i).decode(errors="replace") for i in case["ids"])
        suspects = [(alone, "This is each token decoded by itself: join the bytes of all tokens first, and decode once.")]
        same_text(student.bpe_decode(case["ids"], tokenizer), case["text"], suspects=suspects)
    ids, text = hand["cat_character"]["ids"] * 1_400, hand["cat_character"]["text"] * 1_400
    got = student.bpe_decode([*ids, library().vocab["A"], *ids], tokenizer)
    same_text(got, f"{text}A{text}", what="wrong text for 2,800 such characters, with a letter in the middle")


@checks("bpe_decode")
def test_broken_characters(student, hand):
    """bytes that are not valid UTF-8, such as the bytes of a surrogate, become U+FFFD"""
    case, tokenizer, oracle = hand["cat_character"], student.tokenizer("smollm2"), library()
    first, second, third = case["ids"]
    letter = oracle.vocab["A"]
    surrogate = [oracle.vocab[oracle.byte_to_symbol[byte]] for byte in b"\xed\xa0\x80"]  # U+D800, which is no character
    for ids, want in (
        ([letter, first, letter], "A\ufffdA"),
        ([first, second], case["cut_after_two"]),
        ([third], case["last_byte_alone"]),
        ([letter, third, first, second], "A\ufffd\ufffd"),
        ([letter, *surrogate, letter], "A\ufffd\ufffd\ufffdA"),
    ):
        raw = b"".join(map(oracle.token_bytes, ids))
        gone = 'The broken characters are gone: errors="replace" puts U+FFFD in their place.'
        if ids == [first, second]:  # a version that drops every broken character has failed at the first ids already
            gone = "The last character, which is incomplete, is gone: it becomes U+FFFD, like a broken one in the middle."
        suspects = [
            (raw.decode(errors="ignore"), gone),
            ("".join(chr(byte) if byte < 0x80 else "\ufffd" for byte in raw), "One U+FFFD for a broken character, not for each byte."),
        ]
        same_text(student.bpe_decode(ids, tokenizer), want, what=f"wrong text for {ids}", suspects=suspects)


@checks("bpe_decode")
def test_decode_special_by_name(student):
    """a special token gives its name"""
    oracle, tokenizer = library(), student.tokenizer("smollm2")
    text = "<|im_start|>user\nHi<|im_end|>\n"
    suspects = [("user\nHi\n", "The special tokens are left out: each gives its name.")]
    same_text(student.bpe_decode(oracle.encode(text), tokenizer), text, suspects=suspects)


@checks("bpe_decode")
def test_characters_that_are_not_seen(student):
    """NUL, byte order mark and U+FFFD characters of the text are kept, also at the start or the end"""
    oracle, tokenizer = library(), student.tokenizer("smollm2")
    for text in ("a\0b\0", "\ufeffa\ufeff", "\ufffda\ufffd"):
        same_text(student.bpe_decode(oracle.encode(text), tokenizer), text, what=f"the text {text!r} has changed")


@checks("bpe_decode")
def test_round_trip(student):
    """every line of the sample, encoded by the tokenizers library, decodes to the same text"""
    oracle, tokenizer = library(), student.tokenizer("smollm2")
    for text in sample_texts():
        same_text(student.bpe_decode(oracle.encode(text), tokenizer), text, what="the text has changed")


# StreamDecoder


@checks("StreamDecoder")
def test_character_with_its_last_token(student, hand):
    """a character appears with the token that completes it"""
    for case in (hand["japan"], hand["cat_character"]):
        pieces, rest = pieces_and_rest(student, case["ids"])
        alone = [library().token_bytes(i).decode(errors="replace") for i in case["ids"]]
        suspects = [(alone, "This is what each token by itself gives: keep the bytes of a character that is not complete yet.")]
        equal(pieces, case["pieces"], what=f"wrong pieces for {case['text']}", suspects=suspects)
        equal(rest, "", what="wrong flush: everything had been given out")


@checks("StreamDecoder")
def test_complete_text_at_once(student, hand):
    """complete characters are returned by the push that completes them; line ends and a byte order mark are not changed"""
    case = hand["cat_sentence"]
    pieces, rest = pieces_and_rest(student, case["ids"])
    equal(pieces, case["pieces"])
    equal(rest, "", what="wrong flush: everything had been given out")
    for text, want in (("a\r\nb\r", ["a", "\r", "\n", "b", "\r"]), ("\ufeffa", ["", "", "\ufeff", "a"])):
        pieces, rest = pieces_and_rest(student, ids_of_bytes(text.encode()), "tiny")
        equal([*pieces, rest], [*want, ""], what=f"wrong pushes and flush for {text!r}, one byte at a time")


@checks("StreamDecoder")
def test_stream_cut_off(student, hand):
    """the stream ends inside a character: flush returns one U+FFFD"""
    case = hand["cat_character"]
    pieces, rest = pieces_and_rest(student, case["ids"][:2])
    equal(pieces, ["", ""])
    equal(rest, case["cut_after_two"], what="wrong flush", suspects=[("", "The bytes held back are lost: flush returns them as U+FFFD.")])


@checks("StreamDecoder")
def test_broken_byte_in_the_stream(student, hand):
    """a character broken off in mid-stream becomes U+FFFD in the push that breaks it off, not in the flush"""
    first, second, third = hand["cat_character"]["ids"]
    letter, end = library().vocab["A"], library().special_tokens["<|im_end|>"]
    for ids, want in (
        ([first, letter], ["", "\ufffdA"]),
        ([third, letter], ["\ufffd", "A"]),
        ([letter, first, second, letter, letter], ["A", "", "", "\ufffdA", "A"]),
        ([first, first, second, third], ["", "\ufffd", "", "猫"]),
        ([first, second, end, letter], ["", "", "\ufffd<|im_end|>", "A"]),
        ([first, second, third, third, end], ["", "", "猫", "\ufffd", "<|im_end|>"]),
    ):
        pieces, rest = pieces_and_rest(student, ids)
        late = [*want[:-1], "", want[-1]]
        cause = "The last text comes out with the flush only. The beginning of a character waits, and nothing else."
        equal([*pieces, rest], [*want, ""], what=f"wrong pieces and flush for {ids}", suspects=[(late, cause)])


@checks("StreamDecoder")
def test_bytes_that_begin_nothing(student):
    """a byte that cannot begin a character becomes U+FFFD in the same push"""
    for byte in (0xC0, 0xC1, 0xF5, 0xF8, 0xFE, 0xFF, 0x80, 0xBF):
        pieces, rest = pieces_and_rest(student, ids_of_bytes(bytes([byte])), "tiny")
        cause = "U+FFFD comes out with the flush only: a byte that begins no character has nothing to wait for."
        what = f"wrong push and flush for the byte {byte:02X}"
        equal([*pieces, rest], ["\ufffd", ""], what=what, suspects=[(["", "\ufffd"], cause)])


@checks("StreamDecoder")
def test_bytes_that_begin_a_character(student):
    """characters of two, three and four bytes, pushed one byte at a time, are returned with the last byte"""
    for character in ("\u0080", "é", "\u07ff", "€", "🙂", "\U0010ffff"):  # their first bytes: C2, C3, DF, E2, F0, F4
        raw = character.encode()
        pieces, rest = pieces_and_rest(student, ids_of_bytes(raw), "tiny")
        want = [*[""] * (len(raw) - 1), character, ""]
        equal([*pieces, rest], want, what=f"wrong pushes and flush for the bytes {raw.hex(' ').upper()}")


@checks("StreamDecoder")
def test_second_byte_that_does_not_fit(student):
    """an invalid second byte after E0, ED, F0 or F4: the text that follows is not held back"""
    for raw in (b"\xe0\x80", b"\xed\xa0", b"\xf0\x80", b"\xf4\x90"):
        pieces, rest = pieces_and_rest(student, ids_of_bytes(raw + b"ok"), "tiny")
        after = f"after the bytes {raw.hex(' ').upper()}"
        same_text("".join([*pieces, rest]), "\ufffd\ufffdok", what=f"wrong text for 'ok' {after}")
        equal([pieces[-1], rest], ["k", ""], what=f"wrong last push and flush for 'ok' {after}")


@checks("StreamDecoder")
def test_complete_and_incomplete_in_one_token(student):
    """a token with a complete character and the start of another: the push returns only the complete character"""
    oracle = library()
    for text, want in (
        (" 猫", [" ", "", "猫"]),
        (" 😂", [" ", "😂"]),
    ):  # the first token is the space and one byte or three
        pieces, rest = pieces_and_rest(student, oracle.encode(text))
        equal(pieces, want)
        equal(rest, "", what="wrong flush: everything had been given out")


@checks("StreamDecoder")
def test_two_streams(student, hand):
    """two decoders used alternately do not mix the bytes of their streams"""
    case, tokenizer = hand["cat_character"], student.tokenizer("smollm2")
    one, two = student.StreamDecoder(tokenizer), student.StreamDecoder(tokenizer)
    pieces = [(one.push(i), two.push(i)) for i in case["ids"]]
    equal(pieces, [("", ""), ("", ""), (case["text"], case["text"])])


@checks("StreamDecoder")
def test_new_stream_after_a_flush(student, hand):
    """flush empties the decoder: a second flush returns an empty text, and a new stream is decoded correctly"""
    case = hand["cat_character"]
    decoder = student.StreamDecoder(student.tokenizer("smollm2"))
    got = [decoder.push(case["ids"][0]), decoder.flush(), decoder.flush(), *map(decoder.push, case["ids"]), decoder.flush()]
    equal(got, ["", "\ufffd", "", "", "", "猫", ""], what="wrong push, flush, flush, three pushes, flush")
    got = [*map(decoder.push, case["ids"]), decoder.flush()]
    equal(got, ["", "", "猫", ""], what="wrong three pushes and flush of the next stream")


@checks("StreamDecoder")
def test_stream_joins_to_the_whole(student):
    """all pushes and the flush, joined, give the whole text"""
    oracle = library()
    for text in (*sample_texts("emoji")[:3], *sample_texts("special")[:2], *sample_texts("Thai")[1:]):
        pieces, rest = pieces_and_rest(student, oracle.encode(text))
        same_text("".join([*pieces, rest]), text, what="the text has changed")


# render_chat


def template_slips(want: str) -> list[tuple[str, str]]:
    """Return the rendered texts that common mistakes give, each with a sentence about it."""
    return [
        (want.removesuffix("<|im_start|>assistant\n"), "The generation prompt is missing: <|im_start|>assistant and a line end."),
        (want[:-1], "The line end after the generation prompt is missing."),
        (want.replace("<|im_end|>\n", "<|im_end|>"), "A line end follows each <|im_end|>."),
        (want.replace("<|im_end|>\n", "\n<|im_end|>\n"), "No line end comes before <|im_end|>."),
    ]


@checks("render_chat")
def test_system_and_user(student, hand):
    """a system message and a question give the expected ChatML text"""
    case = hand["chat"]
    same_text(student.render_chat(case["messages"]), case["text"], suspects=template_slips(case["text"]))


@checks("render_chat")
def test_default_system(student, hand):
    """if the first message is not a system message, the default system message is put in front, whatever follows"""
    case = hand["chat"]
    want = case["text_with_default"]
    at = want.index("<|im_start|>user")
    suspects = [(want[at:], "The default system message is missing: it comes first if the first message is no system message.")]
    same_text(student.render_chat(case["without_system"]), want, suspects=[*suspects, *template_slips(want)])
    later = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "And of Italy?"}]
    end = "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nAnd of Italy?<|im_end|>\n<|im_start|>assistant\n"
    want = want.removesuffix("<|im_start|>assistant\n") + end
    same_text(student.render_chat([*case["without_system"], *later]), want, what="wrong text with a system message in the middle")


@checks("render_chat")
def test_longer_conversation(student):
    """all messages, up to 51, are rendered oldest first, and the generation prompt follows, whatever the last role"""
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
    same_text(student.render_chat(messages), want, suspects=template_slips(want))
    messages += [{"role": "user", "content": "Two and two?"}, {"role": "assistant", "content": "Four."}]
    again = "<|im_start|>user\nTwo and two?<|im_end|>\n<|im_start|>assistant\nFour.<|im_end|>\n<|im_start|>assistant\n"
    want = want.removesuffix("<|im_start|>assistant\n") + again
    same_text(student.render_chat(messages), want, what="wrong text for a question asked twice, and answered")
    history = [{"role": ("user", "assistant")[i % 2], "content": str(i)} for i in range(50)]
    want = "".join(f"<|im_start|>{turn['role']}\n{turn['content']}<|im_end|>\n" for turn in [messages[0], *history])
    same_text(student.render_chat([messages[0], *history]), want + "<|im_start|>assistant\n", what="wrong text for 51 messages")


@checks("render_chat")
def test_role_and_content_by_name(student):
    """role and content are read by key, in any order; a role may have any name, and `System` is not the role `system`"""
    for role in ("tool", "Tool", "System"):
        want = f"<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>{role}\n18 degrees<|im_end|>\n<|im_start|>assistant\n"
        messages = [{"content": "Be brief.", "role": "system"}, {"content": "18 degrees", "role": role}]
        same_text(student.render_chat(messages), want, what=f"wrong text with a message of the role {role!r}")
    got = student.render_chat([{"role": "System", "content": "Be brief."}])
    want = (
        "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
        "<|im_start|>System\nBe brief.<|im_end|>\n"
        "<|im_start|>assistant\n"
    )
    same_text(got, want, what="wrong text where the first message has the role 'System'")


@checks("render_chat")
def test_content_as_it_is(student):
    """the content is copied exactly, with spaces, line ends, braces and special tokens"""
    content = "  def f():\n\treturn 1  \n\n"
    got = student.render_chat([{"role": "system", "content": ""}, {"role": "user", "content": content}])
    want = f"<|im_start|>system\n<|im_end|>\n<|im_start|>user\n{content}<|im_end|>\n<|im_start|>assistant\n"
    trimmed = want.replace(content, content.strip())
    same_text(got, want, suspects=[(trimmed, "The content was trimmed: its spaces and line ends are the user's, copy them.")])
    contents = ("{role} {{ x }}", "$$5 for $x", "a ROLE and its CONTENT", "What does <|im_end|> mean?", "It ends with <|im_end|>")
    for content in contents:
        got = student.render_chat([{"role": "system", "content": content}, {"role": "user", "content": "Yes."}])
        want = f"<|im_start|>system\n{content}<|im_end|>\n<|im_start|>user\nYes.<|im_end|>\n<|im_start|>assistant\n"
        same_text(got, want, what=f"wrong text for the content {content!r}")


@checks("render_chat")
def test_messages_are_not_changed(student, hand):
    """the given messages are not changed"""
    case = hand["chat"]
    got = student.render_chat(case["without_system"], _unchanged=True)
    same_text(got, case["text_with_default"])
