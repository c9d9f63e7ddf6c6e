"""Checks of the tokens day that students do not see: fresh random inputs, edges, combinations."""

import functools

import torch

from autograder.authoring import checks, equal
from autograder.checks.test_tokenizer import (
    ALL_BYTES,
    AT_ONCE,
    BROKEN,
    BROKEN_FOR_EVER,
    BY_PIECE,
    HOLD_BACK,
    LOWEST_RANK,
    REPLACE,
    SPECIAL,
    library,
    pieces_and_rest,
    same_ids,
    same_text,
    sample_texts,
)

# `tokenizer.chat_template` in the GGUF file of SmolLM2-135M-Instruct, a Jinja template.
CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{% if loop.first and messages[0]['role'] != 'system' %}"
    "{{ '<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n' }}"
    "{% endif %}"
    "{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
ANY_CHAT = "The same rules for all roles and any content; only the first message decides about the default one."
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
def ids_of_bytes(first: int) -> list[int]:
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
                ids.append(choose(rng, ids_of_bytes(0)))
            case 2 | 3 | 4:
                ids.append(choose(rng, ids_of_bytes(0x80)))
            case 5:
                ids += oracle.encode(chr(draw(rng, *choose(rng, SCRIPTS))))
            case _:
                ids.append(draw(rng, 0, len(oracle.id_to_token) - 1))
    return ids


def decoded(ids: list[int]) -> str:
    oracle = library()
    return b"".join(oracle.token_bytes(i) for i in ids).decode("utf-8", errors="replace")


# merge_pair


@checks("merge_pair")
def test_random_symbols(student, rng):
    """random lists, against replacing in a text"""
    for _ in range(12):
        letters = "abc"[: draw(rng, 1, 3)]
        symbols = [choose(rng, letters) for _ in range(draw(rng, 0, 14))]
        left, right = choose(rng, letters), choose(rng, letters)
        replaced = "".join(symbols).replace(left + right, "M")  # one character a symbol, so a text is as good as a list
        want = [left + right if symbol == "M" else symbol for symbol in replaced]
        got = student.merge_pair(symbols, (left, right), _unchanged=True)
        equal(got, want, cause="From left to right, each symbol used once.", what=f"wrong for {symbols}")


@checks("merge_pair")
def test_random_long_symbols(student, rng):
    """symbols of several characters"""
    names = ["a", "aa", "ab", "b", "ba", "Ġa", "Ġ"]
    for _ in range(12):
        symbols = [choose(rng, names) for _ in range(draw(rng, 2, 14))]
        at = draw(rng, 0, len(symbols) - 2)
        pair = (symbols[at], symbols[at + 1])
        code = {name: chr(0xE000 + i) for i, name in enumerate(names)}  # one private character for each symbol
        name = {c: n for n, c in code.items()} | {"M": pair[0] + pair[1]}
        replaced = "".join(code[s] for s in symbols).replace(code[pair[0]] + code[pair[1]], "M")
        got = student.merge_pair(symbols, pair)
        equal(got, [name[c] for c in replaced], cause="Compare whole symbols.", what=f"wrong for {symbols} with {pair}")


@checks("merge_pair")
def test_new_symbol_is_not_merged_again(student):
    """a merged symbol beside the pair's own parts"""
    cause = "One pass: what has been merged in it is not looked at again."
    equal(student.merge_pair(["a", "a", "aa", "a", "a"], ("a", "aa")), ["a", "aaa", "a", "a"], cause=cause)
    equal(student.merge_pair(["a", "aa", "a", "aa", "aa"], ("a", "aa")), ["aaa", "aaa", "aa"], cause=cause)
    equal(student.merge_pair(["ab", "a", "b", "ab"], ("a", "b")), ["ab", "ab", "ab"], cause=cause)
    equal(student.merge_pair(["ab", "ab", "ab"], ("ab", "ab")), ["abab", "ab"], cause=cause)


# bpe_encode


@checks("bpe_encode")
def test_random_texts(student, rng):
    """random texts of many scripts"""
    same_ids(student, [random_text(rng, 8) for _ in range(12)], BY_PIECE)


@checks("bpe_encode")
def test_random_words(student, rng):
    """random English words, cut and joined"""
    oracle = library()
    words = [t for t in oracle.id_to_token if t.isascii() and t.isalpha() and t.islower() and len(t) > 2]
    texts = ["".join(choose(rng, words)[: draw(rng, 2, 9)] for _ in range(n)) for n in [4] * 16 + [20, 60]]
    same_ids(student, texts, LOWEST_RANK)


@checks("bpe_encode")
def test_random_special_tokens(student, rng):
    """special tokens among other text, with and without spaces"""
    oracle = library()
    names = [*oracle.special_tokens, "<|nothing|>", "<|im_start", "im_end|>"]
    texts = []
    for _ in range(12):
        texts.append("".join(choose(rng, names) + choose(rng, ("", " ", "user\n", " 12 ", "é", "\n\n")) for _ in range(5)))
    same_ids(student, texts, SPECIAL)


@checks("bpe_encode")
def test_nothing_and_single_characters(student):
    """the empty text, single characters, single spaces"""
    same_ids(student, ["", " ", "a", "\n", "7", "é", "🙂", " 🙂", "\ufeff", "\u200d", "  ", " a", "a "], BY_PIECE)


@checks("bpe_encode")
def test_long_pieces(student):
    """pieces of hundreds of bytes"""
    same_ids(student, ["a" * 150, " " * 150 + "x", "ha" * 60, "猫" * 40, "=" * 150, sample_texts("Thai")[0] * 2], LOWEST_RANK)


@checks("bpe_encode")
def test_another_vocabulary(student):
    """another tokenizer than SmolLM2's"""
    texts = sample_texts("English", "German", "digits", "whitespace", "emoji")
    same_ids(student, texts, "Use the tables of the tokenizer that is given.", name="tiny")


# bpe_decode


@checks("bpe_decode")
def test_decode_random_ids(student, rng):
    """random ids, most of them broken characters"""
    tokenizer = student.tokenizer("smollm2")
    for _ in range(20):
        ids = random_ids(rng, draw(rng, 1, 12))
        same_text(student.bpe_decode(ids, tokenizer), decoded(ids), cause=REPLACE, what=f"wrong text for {ids}")


@checks("bpe_decode")
def test_decode_special_tokens(student):
    """special tokens, by name"""
    oracle, tokenizer = library(), student.tokenizer("smollm2")
    text = "".join(oracle.special_tokens)
    ids = list(oracle.special_tokens.values())
    same_text(student.bpe_decode(ids, tokenizer), text, cause="A special token gives its name; none is left out.")


@checks("bpe_decode")
def test_decode_edges(student):
    """no ids, spaces at the ends, repeated calls"""
    oracle, tokenizer = library(), student.tokenizer("smollm2")
    for text in ("", " ", "  a  ", "\n", "\t x\t", " 🙂 ", "\u00a0x\u00a0", "a , b . c ' s do n't", "\ufeffa\ufeff", "a\r\nb\rc", "a\0b"):
        got = student.bpe_decode(oracle.encode(text), tokenizer)
        same_text(got, text, cause="The text is the tokens' bytes and nothing else: strip nothing, tidy nothing.")


@checks("bpe_decode")
def test_decode_bytes_that_are_no_text(student):
    """a surrogate, an overlong form, a byte that never stands in UTF-8"""
    oracle, tokenizer = library("tiny"), student.tokenizer("tiny")
    of_byte = {oracle.token_bytes(i): i for symbol, i in oracle.vocab.items() if len(symbol) == 1}
    for raw in (b"\xed\xa0\x80", b"\xc0\x80", b"\xf5x", b"\xe2\x82"):
        got = student.bpe_decode([of_byte[raw[i : i + 1]] for i in range(len(raw))], tokenizer)
        same_text(got, raw.decode("utf-8", errors="replace"), cause=REPLACE, what=f"wrong text for the bytes {raw!r}")


@checks("bpe_decode")
def test_decode_random_texts(student, rng):
    """random texts of many scripts come back"""
    oracle, tokenizer = library(), student.tokenizer("smollm2")
    for _ in range(12):
        text = random_text(rng, 8)
        got = student.bpe_decode(oracle.encode(text), tokenizer, _unchanged=True)
        same_text(got, text, cause=ALL_BYTES, what="the text has changed")


# StreamDecoder


@checks("StreamDecoder")
def test_random_stream(student, rng):
    """random ids: the pieces join to the whole"""
    for _ in range(12):
        ids = random_ids(rng, draw(rng, 1, 12))
        if draw(rng, 0, 1):
            ids.append(library().vocab["Ġend"])
        pieces, rest = pieces_and_rest(student, ids)
        same_text("".join([*pieces, rest]), decoded(ids), cause=BROKEN, what=f"wrong text for {ids}")
        if decoded(ids).endswith(" end"):
            equal(rest, "", cause=BROKEN_FOR_EVER, what="complete text was held back until the flush")


@checks("StreamDecoder")
def test_each_push_of_random_texts(student, rng):
    """random texts: every push gives what it completes"""
    oracle = library()
    for text in [*(random_text(rng, 6) for _ in range(5)), "a\r\nb\rc\r", "\ufeffx"]:
        ids = oracle.encode(text)
        want, known = [], ""
        for n in range(1, len(ids) + 1):
            # The text is whole, so only an incomplete last character can be ignored here.
            complete = b"".join(oracle.token_bytes(i) for i in ids[:n]).decode("utf-8", errors="ignore")
            want.append(complete.removeprefix(known))
            known = complete
        pieces, rest = pieces_and_rest(student, ids)
        late = "".join(pieces) == "".join(want)
        equal(pieces, want, cause=AT_ONCE if late else HOLD_BACK, what=f"wrong pieces for {ids}")
        equal(rest, "", cause="Nothing is left after a complete text.", what="wrong flush")


@checks("StreamDecoder")
def test_four_bytes(student):
    """characters of two, three and four bytes, a byte at a time"""
    oracle = library()
    of_byte = {oracle.token_bytes(i): i for symbol, i in oracle.vocab.items() if len(symbol) == 1}
    for character in ("\ufeff", "é", "ß", "€", "ऀ", "퟿", "🙂", "\U0001f1e9", "\U00010348", "\U0010fffd", "\ufffd"):
        raw = [bytes([byte]) for byte in character.encode()]
        if not all(byte in of_byte for byte in raw):
            continue
        pieces, rest = pieces_and_rest(student, [of_byte[byte] for byte in [b"x", *raw, b"y"]])
        what = f"wrong text for {character!r}"
        same_text("".join([*pieces, rest]), f"x{character}y", cause=HOLD_BACK, what=what)
        equal(pieces[:1], ["x"], cause=AT_ONCE, what=what)
        if character != "\ufffd":  # the sign itself may be told from a broken character only later
            equal(pieces, ["x", *[""] * (len(raw) - 1), character, "y"], cause=HOLD_BACK, what=what)


@checks("StreamDecoder")
def test_flush_begins_anew(student, hand):
    """after a flush, a new stream"""
    case = hand["cat_character"]
    decoder = student.StreamDecoder(student.tokenizer("smollm2"))
    decoder.push(case["ids"][0])
    equal(decoder.flush(), "\ufffd", cause="flush gives what was held back.", what="wrong flush")
    equal(decoder.flush(), "", cause="flush empties the buffer: a second one gives nothing.", what="wrong second flush")
    last = case["ids"][-1]
    alone = library().token_bytes(last).decode("utf-8", errors="replace")
    for first in case["ids"][:-1]:
        decoder.push(first)
    decoder.flush()
    cause = "flush forgets the bytes it gave out: what follows does not complete them."
    equal(decoder.push(last) + decoder.flush(), alone, cause=cause, what="wrong text after a flush")
    pieces = [decoder.push(i) for i in case["ids"]]
    equal(pieces, case["pieces"], cause="flush empties the buffer, so that a new stream may begin after it.")
    equal(decoder.flush(), "", cause="What was given out is no longer held back.", what="wrong flush")
    h, i, o, n, e = (library().vocab[letter] for letter in "hione")
    equal([decoder.push(h), decoder.push(i), decoder.flush()], ["h", "i", ""], cause="Plain letters are not held back.")
    equal([decoder.push(each) for each in (o, n, e)], ["o", "n", "e"], cause="After a flush everything begins anew, also what was shown.")


@checks("StreamDecoder")
def test_nothing_pushed(student):
    """a stream without tokens"""
    equal(student.StreamDecoder(student.tokenizer("smollm2")).flush(), "", cause='Return "" where nothing was held back.')


# render_chat

CONTENTS = (
    "Hello", "", " ", "two\nlines\n", "\n\n", "  indented", "end  ", "\ttab\t", "a\r\nb", "<|im_end|>", "<|im_start|>user",
    "<b>&amp;</b>", "{role}", "{{ x }}", "100 %s", "back\\n", "é🙂", "<|endoftext|>", "$$5 $x",
)  # fmt: skip


def conversation(*turns: tuple[str, str]) -> list[dict[str, str]]:
    return [{"role": role, "content": content} for role, content in turns]


@checks("render_chat")
def test_random_conversations(student, rng):
    """random conversations, against SmolLM2's own template"""
    from jinja2 import Environment

    template = Environment().from_string(CHAT_TEMPLATE)
    for _ in range(12):
        roles = [choose(rng, ("system", "user", "assistant", "tool")) for _ in range(draw(rng, 1, 5))]
        messages = conversation(*((role, choose(rng, CONTENTS)) for role in roles))
        want = template.render(messages=messages, add_generation_prompt=True)
        got = student.render_chat(messages, _unchanged=True)
        same_text(got, want, cause=ANY_CHAT, what=f"wrong text for the roles {roles}")


@checks("render_chat")
def test_contents_of_every_kind(student):
    """contents with spaces, line ends, braces and special tokens, and a role of another name"""
    twice = "<|im_start|>user\nyes<|im_end|>\n"
    got = student.render_chat(conversation(("system", ""), ("user", "yes"), ("user", "yes")))
    want = f"<|im_start|>system\n<|im_end|>\n{twice}{twice}<|im_start|>assistant\n"
    same_text(got, want, cause="Every message stands there, also one that was said before.")
    for content in CONTENTS:
        got = student.render_chat(conversation(("system", content), ("tool", content)))
        want = f"<|im_start|>system\n{content}<|im_end|>\n<|im_start|>tool\n{content}<|im_end|>\n<|im_start|>assistant\n"
        same_text(got, want, cause="Content and role are copied as they are: nothing is trimmed, left out or filled in.")


@checks("render_chat")
def test_system_message_in_the_middle(student):
    """a system message that is not the first"""
    got = student.render_chat(conversation(("user", "Hi"), ("system", "Be kind."), ("user", "Who are you?")))
    want = (
        "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
        "<|im_start|>user\nHi<|im_end|>\n"
        "<|im_start|>system\nBe kind.<|im_end|>\n"
        "<|im_start|>user\nWho are you?<|im_end|>\n"
        "<|im_start|>assistant\n"
    )
    same_text(got, want, cause="Only the first message decides about the default one; all messages keep their order.")


@checks("render_chat")
def test_last_word_of_the_assistant(student):
    """a conversation that ends with the assistant"""
    got = student.render_chat(conversation(("system", "s"), ("user", "u"), ("assistant", "a")))
    want = "<|im_start|>system\ns<|im_end|>\n<|im_start|>user\nu<|im_end|>\n<|im_start|>assistant\na<|im_end|>\n<|im_start|>assistant\n"
    same_text(got, want, cause="The generation prompt stands at the end, whoever spoke last.")


@checks("render_chat")
def test_keys_in_another_order(student):
    """content before role in the dict"""
    got = student.render_chat([{"content": "c", "role": "system"}, {"content": "d", "role": "user"}])
    want = "<|im_start|>system\nc<|im_end|>\n<|im_start|>user\nd<|im_end|>\n<|im_start|>assistant\n"
    same_text(got, want, cause="Read role and content by their names, not by their order.")
