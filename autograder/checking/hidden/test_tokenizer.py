"""Hidden checks of the tokens day: fresh random inputs, edges, combinations."""

import codecs
import functools
from itertools import pairwise, product

import torch

from autograder.authoring import checks, equal
from autograder.checking.checks.test_tokenizer import (
    ids_of_bytes,
    library,
    merged,
    merged_once_changed,
    pieces_and_rest,
    same_ids,
    same_text,
    sample_texts,
)

# `tokenizer.chat_template` in the GGUF file of SmolLM2-135M-Instruct, a Jinja template.
DEFAULT_SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{% if loop.first and messages[0]['role'] != 'system' %}"
    "{{ '<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n' }}"
    "{% endif %}"
    "{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
# Assigned scripts, each as (first, last) code point; all their bytes have a token in SmolLM2's vocabulary.
SCRIPTS = (
    (0x20, 0x7E), (0xA1, 0x24F), (0x300, 0x36F), (0x391, 0x3C9), (0x410, 0x44F), (0x5D0, 0x5EA), (0x627, 0x64A),
    (0x905, 0x939), (0xE01, 0xE2E), (0x2010, 0x205E), (0x2190, 0x21FF), (0x3041, 0x3093), (0x4E00, 0x9FA5),
    (0xAC00, 0xD7A3), (0x1F300, 0x1F64F),
)  # fmt: skip


def draw(rng: torch.Generator, low: int, high: int) -> int:
    """A number from low to high, both included."""
    return int(torch.randint(low, high + 1, (), generator=rng))


def choose(rng: torch.Generator, options):
    return options[draw(rng, 0, len(options) - 1)]


def random_text(rng: torch.Generator, runs: int) -> str:
    """Runs of characters of one script each, with spaces, digits and line ends between them."""
    parts: list[str] = []
    for _ in range(runs):
        first, last = choose(rng, SCRIPTS)
        parts.append("".join(chr(draw(rng, first, last)) for _ in range(draw(rng, 1, 6))))
        parts.append(choose(rng, ("", " ", "  ", "\n", "\t", str(draw(rng, 0, 9999)), " the", "'s", "    ", " \n")))
    return "".join(parts)


@functools.cache
def ids_of_single_bytes(first: int) -> list[int]:
    """Ids of the tokens that are one byte, of this value or a higher one."""
    oracle = library()
    return [i for symbol, i in oracle.vocab.items() if len(symbol) == 1 and oracle.symbol_to_byte[symbol] >= first]


def random_ids(rng: torch.Generator, count: int) -> list[int]:
    """Ids of which many are single bytes, so that broken characters of every kind occur; some are special tokens."""
    oracle = library()
    ids: list[int] = []
    for _ in range(count):
        match draw(rng, 0, 7):
            case 0:
                ids.append(choose(rng, list(oracle.special_tokens.values())))
            case 1:
                ids.append(choose(rng, ids_of_single_bytes(0)))
            case 2 | 3 | 4:
                ids.append(choose(rng, ids_of_single_bytes(0x80)))
            case 5:
                ids += oracle.encode(chr(draw(rng, *choose(rng, SCRIPTS))))
            case _:
                ids.append(draw(rng, 0, len(oracle.id_to_token) - 1))
    return ids


def decoded(ids: list[int]) -> str:
    oracle = library()
    return b"".join(oracle.token_bytes(i) for i in ids).decode("utf-8", errors="replace")


NARROWER = {0xE0: range(0xA0, 0xC0), 0xED: range(0x80, 0xA0), 0xF0: range(0x90, 0xC0), 0xF4: range(0x80, 0x90)}
"""First byte -> the continuation bytes that make a character with it; after the others all do."""


def streamed(tokens: list[bytes]) -> tuple[list[str], str] | None:
    """Return the texts of each push of these bytes and of the flush; None if the rule leaves open when a U+FFFD comes out."""
    raw = b"".join(tokens)
    if any(0x80 <= b <= 0xBF and b not in NARROWER.get(a, range(0x80, 0xC0)) for a, b in pairwise(raw)):
        return None
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    return [decoder.decode(token) for token in tokens], decoder.decode(b"", final=True)


def same_stream(student, ids: list[int], name: str = "smollm2") -> None:
    """Fail unless every push and the flush return the expected text."""
    oracle = library(name)
    tokens = [oracle.token_bytes(i) for i in ids]
    pieces, rest = pieces_and_rest(student, ids, name)
    shown = " | ".join(token.hex(" ") for token in tokens)
    same_text("".join([*pieces, rest]), b"".join(tokens).decode(errors="replace"), what=f"wrong text for the bytes {shown}")
    if want := streamed(tokens):
        equal(pieces, want[0], what=f"wrong pieces for the bytes {shown}")
        equal(rest, want[1], what=f"wrong flush after the bytes {shown}")


# merge_pair


@checks("merge_pair")
def test_random_symbols(student, rng):
    """random lists of one-letter symbols give the same result as a replacement in a text"""
    for _ in range(12):
        letters = "abc"[: draw(rng, 1, 3)]
        symbols = [choose(rng, letters) for _ in range(draw(rng, 0, 14))]
        left, right = choose(rng, letters), choose(rng, letters)
        replaced = "".join(symbols).replace(left + right, "M")  # one character a symbol, so a text is as good as a list
        want = [left + right if symbol == "M" else symbol for symbol in replaced]
        merged(student, symbols, (left, right), want)


@checks("merge_pair")
def test_random_long_symbols(student, rng):
    """random lists of symbols with one or more characters: every occurrence of the pair is merged"""
    names = ["a", "aa", "ab", "b", "ba", "Ġa", "Ġ"]
    for _ in range(12):
        symbols = [choose(rng, names) for _ in range(draw(rng, 2, 14))]
        at = draw(rng, 0, len(symbols) - 2)
        pair = (symbols[at], symbols[at + 1])
        code = {name: chr(0xE000 + i) for i, name in enumerate(names)}  # one private character for each symbol
        name = {c: n for n, c in code.items()} | {"M": pair[0] + pair[1]}
        replaced = "".join(code[s] for s in symbols).replace(code[pair[0]] + code[pair[1]], "M")
        merged(student, symbols, pair, [name[c] for c in replaced])


@checks("merge_pair")
def test_new_symbol_is_not_merged_again(student):
    """a symbol that has just been merged is not merged again in the same call"""
    merged(student, ["a", "a", "aa", "a", "a"], ("a", "aa"), ["a", "aaa", "a", "a"])
    merged(student, ["a", "aa", "a", "aa", "aa"], ("a", "aa"), ["aaa", "aaa", "aa"])
    merged(student, ["ab", "a", "b", "ab"], ("a", "b"), ["ab", "ab", "ab"])
    merged(student, ["ab", "ab", "ab"], ("ab", "ab"), ["abab", "ab"])


@checks("merge_pair")
def test_symbols_are_compared_as_they_are(student):
    """symbols are compared exactly: upper and lower case, spaces, accents, punctuation, and long symbols"""
    merged(student, ["A", "b", "a", "B", "a", "b"], ("a", "b"), ["A", "b", "a", "B", "ab"])
    merged(student, [" ", "a", " ", " ", "a"], (" ", "a"), [" a", " ", " a"])
    merged(student, ["\u00e9", "e", "\u0301"], ("e", "\u0301"), ["\u00e9", "e\u0301"])
    merged(student, ["a" * 40, "b" * 60, "a"], ("a" * 40, "b" * 60), ["a" * 40 + "b" * 60, "a"])
    merged(student, ["a", "x", ".", "x", "."], (".", "x"), ["a", "x", ".x", "."])
    merged(student, ["d", "|", "a", "\\", "d", "|"], ("\\", "d"), ["d", "|", "a", "\\d", "|"])
    merged(student, ["x", "[", "^", "]", "$"], ("[", "^"), ["x", "[^", "]", "$"])


@checks("merge_pair")
def test_every_short_list(student):
    """every list of up to four symbols from two letters, with every pair of these letters, is merged correctly"""
    for count in range(5):
        for letters in product("ab", repeat=count):
            for left, right in product("ab", repeat=2):
                replaced = "".join(letters).replace(left + right, "M")
                merged(student, list(letters), (left, right), [left + right if c == "M" else c for c in replaced])


@checks("merge_pair")
def test_long_list(student):
    """a list of thousands of symbols is merged completely"""
    merged(student, ["a", "b", "c"] * 800, ("a", "b"), ["ab", "c"] * 800, shown="['a', 'b', 'c'] * 800")


@checks("merge_pair")
def test_random_long_lists(student, rng):
    """random lists of forty symbols: the first symbol of the pair is kept where the second does not follow"""
    for _ in range(6):
        symbols = [choose(rng, "abc") for _ in range(40)]
        replaced = "".join(symbols).replace("ab", "M")
        merged(student, symbols, ("a", "b"), ["ab" if symbol == "M" else symbol for symbol in replaced])


@checks("merge_pair")
def test_the_answer_is_a_copy(student):
    """every call returns a new list, also if the pair does not occur"""
    first, second = student.merge_pair.again([["x", "y", "x"], ("a", "b")], [["u", "v", "w"], ("a", "b")])
    equal(list(first), ["x", "y", "x"], what="a list that was given out has changed with the one that came in")
    equal(list(second), ["u", "v", "w"])
    merged_once_changed(student, ["x", "y", "x", "z"], ("y", "x"), ["x", "yx", "z"])
    merged_once_changed(student, ["x", "y"], ("a", "b"), ["x", "y"])


# bpe_encode


@checks("bpe_encode")
def test_random_texts(student, rng):
    """random texts of many scripts give the same ids as the tokenizers library"""
    same_ids(student, [random_text(rng, 8) for _ in range(12)])


@checks("bpe_encode")
def test_random_words(student, rng):
    """random English words, cut and joined, give the same ids as the tokenizers library"""
    oracle = library()
    words = [t for t in oracle.id_to_token if t.isascii() and t.isalpha() and t.islower() and len(t) > 2]
    texts = ["".join(choose(rng, words)[: draw(rng, 2, 9)] for _ in range(n)) for n in [4] * 16 + [20, 60]]
    same_ids(student, texts)


@checks("bpe_encode")
def test_random_special_tokens(student, rng):
    """special tokens among other text, with and without spaces, give the right ids"""
    oracle = library()
    names = [*oracle.special_tokens, "<|nothing|>", "<|im_start", "im_end|>"]
    texts = []
    for _ in range(12):
        texts.append("".join(choose(rng, names) + choose(rng, ("", " ", "user\n", " 12 ", "é", "\n\n")) for _ in range(5)))
    same_ids(student, texts)


@checks("bpe_encode")
def test_nothing_and_single_characters(student):
    """the empty text, single characters and single spaces give the right ids"""
    same_ids(student, ["", " ", "a", "\n", "7", "é", "🙂", " 🙂", "\ufeff", "\u200d", "  ", " a", "a "])


@checks("bpe_encode")
def test_long_pieces(student):
    """pieces of more than a hundred bytes give the right ids"""
    same_ids(student, ["a" * 150, " " * 150 + "x", "ha" * 60, "猫" * 40, "=" * 150, sample_texts("Thai")[0] * 2])


@checks("bpe_encode")
def test_another_vocabulary(student):
    """a tokenizer other than SmolLM2's gives the ids of its own vocabulary"""
    texts = sample_texts("English", "German", "digits", "whitespace", "emoji")
    same_ids(student, texts, name="tiny")


@checks("bpe_encode")
def test_bytes_without_a_token_anywhere(student):
    """bytes without a token are left out: at the ends of a piece, inside it, as a whole piece, and beside special tokens"""
    left_out = [chr(b) for b in range(0x20) if library().byte_to_symbol[b] not in library().vocab]
    texts = ["".join(left_out), *(f"={c}=" for c in left_out), *(f"{c}a{c}{c}b{c}" for c in left_out)]
    texts += [f"<|im_start|>{left_out[0]}<|im_end|>{left_out[1]}", f"..{left_out[2]}..{left_out[0]}", "\U00040000\U000bffff =\U00051234= x"]
    same_ids(student, texts)
    same_ids(student, texts, name="tiny")  # whose vocabulary has all bytes: nothing is left out there


@checks("bpe_encode")
def test_looks_like_a_special_token(student):
    """text that resembles a special token, or is written next to a special token, gives the right ids"""
    texts = ["<||>", "<|>", "|>", "<|", "<|a|>", "<|im_end|", "<|im_end|>>", "<<|im_end|>", "<|IM_END|>", "<| im_end |>", "<||>" * 3]
    same_ids(student, texts)


# bpe_decode


@checks("bpe_decode")
def test_decode_random_ids(student, rng):
    """random ids, many of them parts of broken characters, give the text of all bytes joined"""
    tokenizer = student.tokenizer("smollm2")
    for _ in range(20):
        ids = random_ids(rng, draw(rng, 1, 12))
        same_text(student.bpe_decode(ids, tokenizer), decoded(ids), what=f"wrong text for {ids}")


@checks("bpe_decode")
def test_decode_special_tokens(student):
    """every special token gives its name, also repeated or between letters"""
    oracle, tokenizer = library(), student.tokenizer("smollm2")
    text = "".join(oracle.special_tokens)
    ids = list(oracle.special_tokens.values())
    same_text(student.bpe_decode(ids, tokenizer, _unchanged=True), text)
    a, b, end = oracle.vocab["a"], oracle.vocab["b"], oracle.special_tokens["<|im_end|>"]
    same_text(student.bpe_decode([a, a, a, b, end, end, b, b, a], tokenizer), "aaab<|im_end|><|im_end|>bba")


@checks("bpe_decode")
def test_decode_edges(student):
    """no ids give an empty text; spaces and invisible characters are kept, also at the ends of the text"""
    oracle, tokenizer = library(), student.tokenizer("smollm2")
    for text in ("", " ", "  a  ", "\n", "\t x\t", " 🙂 ", "\u00a0x\u00a0", "a , b . c ' s do n't", "\ufeffa\ufeff", "a\r\nb\rc", "a\0b"):
        got = student.bpe_decode(oracle.encode(text), tokenizer)
        same_text(got, text)


@checks("bpe_decode")
def test_decode_bytes_that_are_no_text(student):
    """bytes of a surrogate, an overlong form or a cut-off character, and bytes that UTF-8 never uses, become U+FFFD"""
    oracle, tokenizer = library("tiny"), student.tokenizer("tiny")
    of_byte = {oracle.token_bytes(i): i for symbol, i in oracle.vocab.items() if len(symbol) == 1}
    for raw in (b"\xed\xa0\x80", b"\xc0\x80", b"\xf5x", b"\xe2\x82"):
        got = student.bpe_decode([of_byte[raw[i : i + 1]] for i in range(len(raw))], tokenizer)
        same_text(got, raw.decode("utf-8", errors="replace"), what=f"wrong text for the bytes {raw!r}")


@checks("bpe_decode")
def test_decode_random_texts(student, rng):
    """random texts of many scripts, encoded by the library, decode to the same texts; the ids are not changed"""
    oracle, tokenizer = library(), student.tokenizer("smollm2")
    for _ in range(12):
        text = random_text(rng, 8)
        got = student.bpe_decode(oracle.encode(text), tokenizer, _unchanged=True)
        same_text(got, text, what="the text has changed")


@checks("bpe_decode")
def test_decode_keeps_the_last_character(student):
    """the last character is kept if it is NUL, U+FFFD or invisible, and thousands of ids decode to the right text"""
    tokenizer = student.tokenizer("tiny")
    for text in ("a\0", "\0", "\0\0", "x\ufffd", "\ufffd", "\ufffd\ufffd", "a\x7f", "a\u200b", "\u2028"):
        same_text(student.bpe_decode(ids_of_bytes(text.encode()), tokenizer), text)
    long = "x" + "🙂" * 1_500 + "é" * 1_000
    same_text(student.bpe_decode(ids_of_bytes(long.encode()), tokenizer), long, what="wrong text for 8,001 bytes")


# StreamDecoder


@checks("StreamDecoder", weight=2)
def test_random_stream(student, rng):
    """random ids, many of them parts of characters: every push and the flush return the right text"""
    for _ in range(12):
        ids = random_ids(rng, draw(rng, 1, 12))
        if draw(rng, 0, 1):
            ids.append(library().vocab["Ġend"])
        same_stream(student, ids)


@checks("StreamDecoder")
def test_each_push_of_random_texts(student, rng):
    """random texts: every push returns the characters that its token completes"""
    for text in [*(random_text(rng, 6) for _ in range(5)), "a\r\nb\rc\r", "\ufeffx", "x\ufffdy", "\ufffd", "a\0b"]:
        same_stream(student, library().encode(text))


@checks("StreamDecoder")
def test_bytes_one_at_a_time(student):
    """characters of two, three and four bytes, pushed byte by byte, complete or broken off at any byte: every push is right"""
    for character in ("\x80", "é", "߿", "ࠀ", "€", "ऀ", "퟿", "\uffff", "\ufffd", "\U00010000", "🙂", "\U0010ffff"):
        raw = character.encode()
        same_stream(student, ids_of_bytes(b"x" + raw + b"y"), "tiny")
        for cut in range(1, len(raw)):
            same_stream(student, ids_of_bytes(raw[:cut]), "tiny")
            same_stream(student, ids_of_bytes(raw[:cut] + b"y" + raw), "tiny")
            same_stream(student, ids_of_bytes(raw[:cut] + raw), "tiny")


BORDERS = bytes.fromhex("00 41 7f 80 8f 90 9f a0 bf c0 c1 c2 df e0 e1 ec ed ee ef f0 f1 f3 f4 f5 f7 f8 fe ff")
"""Bytes on both sides of every border of UTF-8."""


@checks("StreamDecoder")
def test_every_kind_of_byte(student):
    """every kind of byte, as the first byte or after the start of a character: every push and the flush are right"""
    for first in (b"", b"\xc3", b"\xe7", b"\xe7\x8c", b"\xf0\x9f", b"\xf0\x9f\x99"):
        decoder = student.StreamDecoder(student.tokenizer("tiny"))
        for byte in BORDERS:
            tokens = [bytes([each]) for each in (*first, byte)]
            got = [decoder.push(i) for i in ids_of_bytes(b"".join(tokens))]
            got.append(decoder.flush())
            want = streamed(tokens)
            if want:
                equal(got, [*want[0], want[1]], what=f"wrong pushes and flush for the bytes {b''.join(tokens).hex(' ')}")
            else:
                same_text("".join(got), b"".join(tokens).decode(errors="replace"))


@checks("StreamDecoder")
def test_special_token_waits_its_turn(student, hand):
    """a special token after an incomplete character: the push returns U+FFFD, then the name of the special token"""
    first, second, third = hand["cat_character"]["ids"]
    for special in library().special_tokens.values():
        same_stream(student, [first, special])
        same_stream(student, [first, second, special, third, special, first, second, third])


@checks("StreamDecoder")
def test_narrower_second_byte(student):
    """an invalid second byte after E0, ED, F0 or F4: the joined text is right, and later text is not held back"""
    for raw in (b"\xe0\x80", b"\xed\xa0", b"\xf0\x80", b"\xf4\x90"):
        for rest in (b"", b"\x80", b"\x80\x80", b"\x80\x80\x80"):
            whole = raw + rest + b"ok"
            pieces, after = pieces_and_rest(student, ids_of_bytes(whole), "tiny")
            what = f"wrong text for the bytes {whole.hex(' ')}"
            same_text("".join([*pieces, after]), whole.decode(errors="replace"), what=what)
            equal([*pieces[-1:], after], ["k", ""], what=f"wrong last push and flush for the bytes {whole.hex(' ')}")


@checks("StreamDecoder")
def test_flush_begins_anew(student, hand):
    """after a flush, the decoder decodes a new stream, without bytes of the old stream"""
    case = hand["cat_character"]
    decoder = student.StreamDecoder(student.tokenizer("smollm2"))
    last = case["ids"][-1]
    alone = library().token_bytes(last).decode("utf-8", errors="replace")
    for first in case["ids"][:-1]:
        decoder.push(first)
    equal(decoder.flush(), "\ufffd", what="wrong flush")
    equal(decoder.push(last) + decoder.flush(), alone, what="wrong text after a flush: what was held before it is given out and gone")
    pieces = [decoder.push(i) for i in case["ids"]]
    equal([*pieces, decoder.flush()], [*case["pieces"], ""], what="wrong second stream")
    h, i, o, n, e = (library().vocab[letter] for letter in "hione")
    equal([decoder.push(h), decoder.push(i), decoder.flush()], ["h", "i", ""], what="wrong third stream")
    equal([decoder.push(each) for each in (o, n, e)], ["o", "n", "e"], what="wrong fourth stream")


@checks("StreamDecoder")
def test_nothing_pushed(student):
    """flush without any push returns an empty text"""
    equal(student.StreamDecoder(student.tokenizer("smollm2")).flush(), "")


# render_chat

CONTENTS = (
    "Hello", "", " ", "two\nlines\n", "\n\n", "  indented", "end  ", "\ttab\t", "a\r\nb", "<|im_end|>", "<|im_start|>user",
    "<b>&amp;</b>", "{role}", "{{ x }}", "100 %s", "back\\n", "é🙂", "<|endoftext|>", "$$5 $x",
    "[ROLE] and <CONTENT>, role and content",
)  # fmt: skip


def conversation(*turns: tuple[str, str]) -> list[dict[str, str]]:
    return [{"role": role, "content": content} for role, content in turns]


@checks("render_chat")
def test_random_conversations(student, rng):
    """random conversations give the same text as SmolLM2's own chat template; the messages are not changed"""
    from jinja2 import Environment

    template = Environment().from_string(CHAT_TEMPLATE)
    for _ in range(12):
        roles = [choose(rng, ("system", "user", "assistant", "tool")) for _ in range(draw(rng, 1, 5))]
        messages = conversation(*((role, choose(rng, CONTENTS)) for role in roles))
        want = template.render(messages=messages, add_generation_prompt=True)
        got = student.render_chat(messages, _unchanged=True)
        same_text(got, want, what=f"wrong text for the roles {roles}")


@checks("render_chat")
def test_contents_of_every_kind(student):
    """contents with spaces, line ends, braces or special tokens are copied exactly, and repeated messages are all kept"""
    twice = "<|im_start|>user\nyes<|im_end|>\n"
    got = student.render_chat(conversation(("system", ""), ("user", "yes"), ("user", "yes")))
    want = f"<|im_start|>system\n<|im_end|>\n{twice}{twice}<|im_start|>assistant\n"
    same_text(got, want)
    for content in CONTENTS:
        got = student.render_chat(conversation(("system", content), ("tool", content)))
        want = f"<|im_start|>system\n{content}<|im_end|>\n<|im_start|>tool\n{content}<|im_end|>\n<|im_start|>assistant\n"
        same_text(got, want)


@checks("render_chat")
def test_system_message_in_the_middle(student):
    """a system message in the middle is rendered in its place, and the default system message is put in front"""
    got = student.render_chat(conversation(("user", "Hi"), ("system", "Be kind."), ("user", "Who are you?")))
    want = (
        "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
        "<|im_start|>user\nHi<|im_end|>\n"
        "<|im_start|>system\nBe kind.<|im_end|>\n"
        "<|im_start|>user\nWho are you?<|im_end|>\n"
        "<|im_start|>assistant\n"
    )
    same_text(got, want)


@checks("render_chat")
def test_last_word_of_the_assistant(student):
    """a conversation that ends with an assistant message: the generation prompt still follows"""
    got = student.render_chat(conversation(("system", "s"), ("user", "u"), ("assistant", "a")))
    want = "<|im_start|>system\ns<|im_end|>\n<|im_start|>user\nu<|im_end|>\n<|im_start|>assistant\na<|im_end|>\n<|im_start|>assistant\n"
    same_text(got, want)


@checks("render_chat")
def test_roles_as_they_are(student):
    """a role is copied exactly; if the first role is not exactly `system`, the default system message is put in front"""
    for role in ("System", "SYSTEM", "system ", "Tool", "user", "developer"):
        got = student.render_chat(conversation((role, "x")))
        want = f"<|im_start|>system\n{DEFAULT_SYSTEM}<|im_end|>\n<|im_start|>{role}\nx<|im_end|>\n<|im_start|>assistant\n"
        same_text(got, want, what=f"wrong text for the role {role!r}")


@checks("render_chat")
def test_long_conversation_in_full(student):
    """all forty messages of a conversation are rendered"""
    turns = [("system", "s"), *((("user", "assistant")[i % 2], f"message {i}") for i in range(39))]
    want = "".join(f"<|im_start|>{role}\n{content}<|im_end|>\n" for role, content in turns) + "<|im_start|>assistant\n"
    same_text(student.render_chat(conversation(*turns)), want)


@checks("render_chat")
def test_keys_in_another_order(student):
    """role and content are read by key, also if content comes before role in the dict"""
    got = student.render_chat([{"content": "c", "role": "system"}, {"content": "d", "role": "user"}])
    want = "<|im_start|>system\nc<|im_end|>\n<|im_start|>user\nd<|im_end|>\n<|im_start|>assistant\n"
    same_text(got, want)
