# Versions of bpe_decode, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_bpe_decode_by_stream
# RIGHT: lets the stream decoder do it
def bpe_decode(ids, tokenizer):
    decoder = StreamDecoder(tokenizer)
    return "".join([decoder.push(i) for i in ids] + [decoder.flush()])


# %% right_bpe_decode_bytearray
# RIGHT: adds to a bytearray and writes the replacement by hand
def bpe_decode(ids, tokenizer):
    data = b""
    for i in ids:
        data += tokenizer.token_bytes(i)
    text = ""
    while data:
        try:
            return text + data.decode()
        except UnicodeDecodeError as error:
            text += data[: error.start].decode() + "\N{REPLACEMENT CHARACTER}"
            data = data[error.end :]
    return text


# %% right_bpe_decode_symbols
# RIGHT: goes over the symbols of the tokens instead of token_bytes
def bpe_decode(ids, tokenizer):
    data = bytearray()
    special = set(tokenizer.special_tokens.values())
    for i in ids:
        token = tokenizer.id_to_token[i]
        if i in special:
            data += token.encode()
        else:
            data += bytes(tokenizer.symbol_to_byte[c] for c in token)
    return str(bytes(data), "utf-8", "replace")


# %% wrong_bpe_decode_backslashes
# WRONG: shows broken bytes as escapes
def bpe_decode(ids, tokenizer):
    return b"".join(tokenizer.token_bytes(i) for i in ids).decode(errors="backslashreplace")


# %% wrong_bpe_decode_ignore
# WRONG: drops broken bytes
def bpe_decode(ids, tokenizer):
    return b"".join(tokenizer.token_bytes(i) for i in ids).decode(errors="ignore")


# %% wrong_bpe_decode_latin1
# WRONG: reads the bytes as Latin-1
def bpe_decode(ids, tokenizer):
    return b"".join(tokenizer.token_bytes(i) for i in ids).decode("latin-1")


# %% wrong_bpe_decode_normalised
# WRONG: normalises the text (NFC)
import unicodedata


def bpe_decode(ids, tokenizer):
    text = b"".join(tokenizer.token_bytes(i) for i in ids).decode(errors="replace")
    return unicodedata.normalize("NFC", text)


# %% wrong_bpe_decode_nul
# WRONG: NUL characters are dropped
def bpe_decode(ids, tokenizer):
    return b"".join(tokenizer.token_bytes(i) for i in ids).decode("utf-8", errors="replace").replace("\0", "")


# %% wrong_bpe_decode_one_sign_a_byte
# WRONG: writes a sign for every broken byte instead of every broken character
def bpe_decode(ids, tokenizer):
    data = b"".join(tokenizer.token_bytes(i) for i in ids)
    text = data.decode(errors="surrogateescape")
    return "".join("\ufffd" if "\udc80" <= c <= "\udcff" else c for c in text)


# %% wrong_bpe_decode_only_spaces
# WRONG: turns only the symbol of the space back
def bpe_decode(ids, tokenizer):
    return "".join(tokenizer.id_to_token[i] for i in ids).replace("\u0120", " ").replace("\u010a", "\n")


# %% wrong_bpe_decode_pieces_by_words
# WRONG: decodes word by word, so that a broken character counts twice
def bpe_decode(ids, tokenizer):
    text, held = "", b""
    for i in ids:
        held += tokenizer.token_bytes(i)
        try:
            text += held.decode()
            held = b""
        except UnicodeDecodeError:
            if len(held) > 4:
                text += held.decode(errors="replace")
                held = b""
    return text


# %% wrong_bpe_decode_question_mark
# WRONG: writes a question mark for a broken character
def bpe_decode(ids, tokenizer):
    return b"".join(tokenizer.token_bytes(i) for i in ids).decode(errors="replace").replace("\ufffd", "?")


# %% wrong_bpe_decode_sig
# WRONG: utf-8-sig eats a byte order mark at the beginning
def bpe_decode(ids, tokenizer):
    return b"".join(tokenizer.token_bytes(i) for i in ids).decode("utf-8-sig", errors="replace")


# %% wrong_bpe_decode_skips_special
# WRONG: leaves special tokens out
def bpe_decode(ids, tokenizer):
    special = set(tokenizer.special_tokens.values())
    return b"".join(tokenizer.token_bytes(i) for i in ids if i not in special).decode(errors="replace")


# %% wrong_bpe_decode_spaces_between
# WRONG: joins tokens with spaces
def bpe_decode(ids, tokenizer):
    return b" ".join(tokenizer.token_bytes(i) for i in ids).decode(errors="replace")


# %% wrong_bpe_decode_stops_at_eos
# WRONG: stops at the end-of-text token
def bpe_decode(ids, tokenizer):
    ids = ids[: ids.index(tokenizer.eos_token_id)] if tokenizer.eos_token_id in ids else ids
    return b"".join(tokenizer.token_bytes(i) for i in ids).decode(errors="replace")


# %% wrong_bpe_decode_strict
# WRONG: raises on broken bytes
def bpe_decode(ids, tokenizer):
    return b"".join(tokenizer.token_bytes(i) for i in ids).decode()


# %% wrong_bpe_decode_strips
# WRONG: strips the text
def bpe_decode(ids, tokenizer):
    return b"".join(tokenizer.token_bytes(i) for i in ids).decode(errors="replace").strip()


# %% wrong_bpe_decode_strips_left
# WRONG: takes the space in front away
def bpe_decode(ids, tokenizer):
    return b"".join(tokenizer.token_bytes(i) for i in ids).decode(errors="replace").removeprefix(" ")


# %% wrong_bpe_decode_surrogates
# WRONG: surrogatepass: bytes that are no UTF-8 become a lone surrogate
def bpe_decode(ids, tokenizer):
    data = b"".join(tokenizer.token_bytes(i) for i in ids)
    try:
        return data.decode("utf-8", errors="surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", errors="replace")


# %% wrong_bpe_decode_symbols_shown
# WRONG: shows the symbols instead of the bytes
def bpe_decode(ids, tokenizer):
    return "".join(tokenizer.id_to_token[i] for i in ids)


# %% wrong_bpe_decode_tidies
# WRONG: tidies spaces before punctuation, as some libraries do by default
def bpe_decode(ids, tokenizer):
    text = b"".join(tokenizer.token_bytes(i) for i in ids).decode(errors="replace")
    return text.replace(" .", ".").replace(" ,", ",").replace(" n't", "n't")


# %% wrong_bpe_decode_token_by_token
# WRONG: decodes token by token: characters over two tokens break
def bpe_decode(ids, tokenizer):
    return "".join(tokenizer.token_bytes(i).decode(errors="replace") for i in ids)


# %% wrong_bpe_decode_parts_of_256
# WRONG: decodes 256 tokens at a time: a character that crosses the border of two parts is broken
def bpe_decode(ids, tokenizer):
    parts = (b"".join(map(tokenizer.token_bytes, ids[i : i + 256])) for i in range(0, len(ids), 256))
    return "".join(part.decode(errors="replace") for part in parts)


# %% wrong_bpe_decode_never_final
# WRONG: calls an incremental decoder without final=True: an incomplete character at the end is missing
import codecs


def bpe_decode(ids, tokenizer):
    return codecs.getincrementaldecoder("utf-8")(errors="replace").decode(b"".join(map(tokenizer.token_bytes, ids)))


# %% wrong_bpe_decode_cuts_nul
# WRONG: NUL bytes at the end are cut off, as of a C string
def bpe_decode(ids, tokenizer):
    return b"".join(tokenizer.token_bytes(i) for i in ids).rstrip(b"\x00").decode("utf-8", errors="replace")


# %% wrong_bpe_decode_cuts_its_own_sign
# WRONG: takes a replacement character at the end for an unfinished one and drops it, be it in the text itself
def bpe_decode(ids, tokenizer):
    data = b"".join(tokenizer.token_bytes(i) for i in ids)
    return data.removesuffix("\ufffd".encode()).decode("utf-8", errors="replace")

# %% wrong_bpe_decode_uses_up_the_ids
# WRONG: takes the ids out of the caller's list, which is empty afterwards
def bpe_decode(ids, tokenizer):
    data = b""
    while ids:
        data += tokenizer.token_bytes(ids.pop(0))
    return data.decode(errors="replace")


# %% wrong_bpe_decode_needs_a_first_id
# WRONG: joins by reduce without a beginning: no ids raise TypeError
from functools import reduce


def bpe_decode(ids, tokenizer):
    return reduce(bytes.__add__, map(tokenizer.token_bytes, ids)).decode(errors="replace")
