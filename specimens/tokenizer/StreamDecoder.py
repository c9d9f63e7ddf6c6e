# Versions of StreamDecoder, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_streamdecoder_codecs
# RIGHT: the incremental decoder of the standard library
import codecs


class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.utf8 = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def push(self, id):
        return self.utf8.decode(self.tokenizer.token_bytes(id))

    def flush(self):
        return self.utf8.decode(b"", final=True)


# %% right_streamdecoder_as_hinted
# RIGHT: the third hint, written out
class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.held = b""

    def push(self, id):
        data = self.held + self.tokenizer.token_bytes(id)
        cut = len(data)
        for back in (1, 2, 3):
            if back > len(data):
                break
            byte = data[-back]
            if 0x80 <= byte <= 0xBF:
                continue
            if 0xC2 <= byte < 0xE0:
                needed = 2
            elif 0xE0 <= byte < 0xF0:
                needed = 3
            elif 0xF0 <= byte <= 0xF4:
                needed = 4
            else:
                needed = 1
            if needed > back:
                cut = len(data) - back
            break
        self.held = data[cut:]
        return data[:cut].decode(errors="replace")

    def flush(self):
        rest, self.held = self.held, b""
        return rest.decode(errors="replace")


# %% right_streamdecoder_generator
# RIGHT: a generator does the work
class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self._begin()

    def _begin(self):
        self.work = self._run()
        next(self.work)

    def _run(self):
        import codecs

        decoder = codecs.getincrementaldecoder("utf8")("replace")
        out = ""
        while True:
            data = yield out
            out = decoder.decode(data or b"", final=data is None)

    def push(self, id):
        return self.work.send(self.tokenizer.token_bytes(id))

    def flush(self):
        rest = self.work.send(None)
        self._begin()
        return rest


# %% right_streamdecoder_lead_byte
# RIGHT: looks for a leading byte among the last three and counts what it announces
class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.held = b""

    def push(self, id):
        data = self.held + self.tokenizer.token_bytes(id)
        cut = len(data)
        for back in range(1, min(3, len(data)) + 1):
            byte = data[-back]
            if byte < 0x80:
                break
            if byte >= 0xC0:
                length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
                if 0xC2 <= byte < 0xF5 and length > back:
                    cut = len(data) - back
                break
        self.held = data[cut:]
        return data[:cut].decode("utf-8", errors="replace")

    def flush(self):
        rest, self.held = self.held, b""
        return rest.decode("utf-8", errors="replace")


# %% right_streamdecoder_longest_prefix
# RIGHT: tries to cut off one, two or three bytes
class StreamDecoder:
    def __init__(self, tokenizer):
        self._tokenizer = tokenizer
        self._held = b""

    def push(self, id):
        data = self._held + self._tokenizer.token_bytes(id)
        for keep in (3, 2, 1):
            tail = data[-keep:] if len(data) >= keep else b""
            if tail and self._may_grow(tail):
                self._held = tail
                return data[:-keep].decode(errors="replace")
        self._held = b""
        return data.decode(errors="replace")

    def flush(self):
        rest, self._held = self._held.decode(errors="replace"), b""
        return rest

    @staticmethod
    def _may_grow(tail):
        try:
            tail.decode()
        except UnicodeDecodeError as error:
            return error.start == 0 and error.end == len(tail) and error.reason == "unexpected end of data"
        return False


# %% right_streamdecoder_unicode_error
# RIGHT: reads from the error what is incomplete and what is broken
class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.buffer = bytearray()

    def push(self, id):
        self.buffer += self.tokenizer.token_bytes(id)
        text = ""
        while True:
            try:
                text += self.buffer.decode("utf-8")
                self.buffer.clear()
                return text
            except UnicodeDecodeError as error:
                text += self.buffer[: error.start].decode("utf-8")
                if error.reason == "unexpected end of data":
                    del self.buffer[: error.start]
                    return text
                text += "\ufffd"
                del self.buffer[: error.end]

    def flush(self):
        text = self.buffer.decode("utf-8", errors="replace")
        self.buffer.clear()
        return text


# %% wrong_streamdecoder_broken_count
# WRONG: writes one sign for each broken byte
import codecs


class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.held = b""

    def push(self, id):
        self.held += self.tokenizer.token_bytes(id)
        out = ""
        while self.held:
            for n in (1, 2, 3, 4):
                try:
                    out += self.held[:n].decode()
                    self.held = self.held[n:]
                    break
                except UnicodeDecodeError as error:
                    if n >= len(self.held) and error.reason == "unexpected end of data":
                        return out
            else:
                out += "\ufffd"
                self.held = self.held[1:]
        return out

    def flush(self):
        out, self.held = "\ufffd" * len(self.held), b""
        return out


# %% wrong_streamdecoder_buffer_two_tokens
# WRONG: gives up after two tokens and prints what it has
import codecs


class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.held, self.count = b"", 0

    def push(self, id):
        self.held += self.tokenizer.token_bytes(id)
        self.count += 1
        text = self.held.decode(errors="replace")
        if text.endswith("\ufffd") and self.count < 2:
            return ""
        self.held, self.count = b"", 0
        return text

    def flush(self):
        out, self.held, self.count = self.held.decode(errors="replace"), b"", 0
        return out


# %% wrong_streamdecoder_c2_not_held
# WRONG: takes C2 for a byte that begins nothing
class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.held = b""

    def push(self, id):
        data = self.held + self.tokenizer.token_bytes(id)
        cut = len(data)
        for back in range(1, min(3, len(data)) + 1):
            byte = data[-back]
            if 0x80 <= byte <= 0xBF:
                continue
            announced = 2 if 0xC3 <= byte <= 0xDF else 3 if 0xE0 <= byte <= 0xEF else 4 if 0xF0 <= byte <= 0xF4 else 1
            if announced > back:
                cut = len(data) - back
            break
        self.held = data[cut:]
        return data[:cut].decode("utf-8", errors="replace")

    def flush(self):
        held, self.held = self.held, b""
        return held.decode("utf-8", errors="replace")


# %% wrong_streamdecoder_continuation_held
# WRONG: holds back a continuation byte that continues nothing
class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.held = b""

    def push(self, id):
        data = self.held + self.tokenizer.token_bytes(id)
        cut = len(data)
        for back in range(1, min(3, len(data)) + 1):
            byte = data[-back]
            if 0x80 <= byte <= 0xBF:
                continue
            announced = 2 if 0xC2 <= byte <= 0xDF else 3 if 0xE0 <= byte <= 0xEF else 4 if 0xF0 <= byte <= 0xF4 else 1
            if announced > back:
                cut = len(data) - back
            break
        if data and all(0x80 <= byte <= 0xBF for byte in data) and len(data) < 3:
            cut = 0
        self.held = data[cut:]
        return data[:cut].decode("utf-8", errors="replace")

    def flush(self):
        held, self.held = self.held, b""
        return held.decode("utf-8", errors="replace")


# %% wrong_streamdecoder_cr_held
# WRONG: io's newline decoder holds a carriage return
import codecs
import io
class StreamDecoder:
    def __init__(self, tokenizer):
        self.t = tokenizer
        self.d = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder("utf-8")("replace"), translate=False)
    def push(self, id): return self.d.decode(self.t.token_bytes(id))
    def flush(self):
        rest = self.d.decode(b"", True); self.d.reset()
        return rest


# %% wrong_streamdecoder_decode_diff
# WRONG: decodes all ids and shows what is new, holding a sign at the end; shown length is not reset by flush
import codecs


class StreamDecoder:
    def __init__(self, tokenizer):
        self.t = tokenizer; self.data = b""; self.shown = 0
    def push(self, id):
        self.data += self.t.token_bytes(id)
        text, _ = codecs.utf_8_decode(self.data, "replace", False)
        new, self.shown = text[self.shown:], len(text)
        return new
    def flush(self):
        text = self.data.decode("utf-8", "replace")
        new = text[self.shown:]
        self.data = b""
        return new


# %% wrong_streamdecoder_df_not_held
# WRONG: takes DF for a byte that begins nothing
class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.held = b""

    def push(self, id):
        data = self.held + self.tokenizer.token_bytes(id)
        cut = len(data)
        for back in range(1, min(3, len(data)) + 1):
            byte = data[-back]
            if 0x80 <= byte <= 0xBF:
                continue
            announced = 2 if 0xC2 <= byte <= 0xDE else 3 if 0xE0 <= byte <= 0xEF else 4 if 0xF0 <= byte <= 0xF4 else 1
            if announced > back:
                cut = len(data) - back
            break
        self.held = data[cut:]
        return data[:cut].decode("utf-8", errors="replace")

    def flush(self):
        held, self.held = self.held, b""
        return held.decode("utf-8", errors="replace")


# %% wrong_streamdecoder_emits_early
# WRONG: gives U+FFFD out for a character that is only incomplete
class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.ids = []
        self.given = ""

    def push(self, id):
        self.ids.append(id)
        text = bpe_decode(self.ids, self.tokenizer)
        new = text[len(self.given) :]
        self.given = text
        return new

    def flush(self):
        return ""


# %% wrong_streamdecoder_f4_not_held
# WRONG: takes F4 for a byte that begins nothing
class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.held = b""

    def push(self, id):
        data = self.held + self.tokenizer.token_bytes(id)
        cut = len(data)
        for back in range(1, min(3, len(data)) + 1):
            byte = data[-back]
            if 0x80 <= byte <= 0xBF:
                continue
            announced = 2 if 0xC2 <= byte <= 0xDF else 3 if 0xE0 <= byte <= 0xEF else 4 if 0xF0 <= byte < 0xF4 else 1
            if announced > back:
                cut = len(data) - back
            break
        self.held = data[cut:]
        return data[:cut].decode("utf-8", errors="replace")

    def flush(self):
        held, self.held = self.held, b""
        return held.decode("utf-8", errors="replace")


# %% wrong_streamdecoder_flush_at_special
# WRONG: holds a broken character back when a special token follows, and gives it out after it
class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.held = b""

    def push(self, id):
        if id in self.tokenizer.special_tokens.values() and self.held:
            held, self.held = self.held, b""
            return self.tokenizer.token_bytes(id).decode() + held.decode("utf-8", errors="replace")
        data = self.held + self.tokenizer.token_bytes(id)
        cut = len(data)
        for back in range(1, min(3, len(data)) + 1):
            byte = data[-back]
            if 0x80 <= byte <= 0xBF:
                continue
            announced = 2 if 0xC2 <= byte <= 0xDF else 3 if 0xE0 <= byte <= 0xEF else 4 if 0xF0 <= byte <= 0xF4 else 1
            if announced > back:
                cut = len(data) - back
            break
        self.held = data[cut:]
        return data[:cut].decode("utf-8", errors="replace")

    def flush(self):
        held, self.held = self.held, b""
        return held.decode("utf-8", errors="replace")


# %% wrong_streamdecoder_flush_keeps_second
# WRONG: flush gives out what is held but keeps it
class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.held = b""

    def push(self, id):
        data = self.held + self.tokenizer.token_bytes(id)
        cut = len(data)
        for back in range(1, min(3, len(data)) + 1):
            byte = data[-back]
            if 0x80 <= byte <= 0xBF:
                continue
            announced = 2 if 0xC2 <= byte <= 0xDF else 3 if 0xE0 <= byte <= 0xEF else 4 if 0xF0 <= byte <= 0xF4 else 1
            if announced > back:
                cut = len(data) - back
            break
        self.held = data[cut:]
        return data[:cut].decode("utf-8", errors="replace")

    def flush(self):
        return self.held.decode("utf-8", errors="replace")


# %% wrong_streamdecoder_flush_then_dead
# WRONG: after a flush it gives nothing any more
import codecs


class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.utf8 = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self.closed = False

    def push(self, id):
        return "" if self.closed else self.utf8.decode(self.tokenizer.token_bytes(id))

    def flush(self):
        self.closed = True
        return self.utf8.decode(b"", final=True)


# %% wrong_streamdecoder_four_from_f1
# WRONG: takes F0 for the beginning of three bytes
class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.held = b""

    def push(self, id):
        data = self.held + self.tokenizer.token_bytes(id)
        cut = len(data)
        for back in range(1, min(3, len(data)) + 1):
            byte = data[-back]
            if 0x80 <= byte <= 0xBF:
                continue
            announced = 2 if 0xC2 <= byte <= 0xDF else 3 if 0xE0 <= byte <= 0xF0 else 4 if 0xF0 <= byte <= 0xF4 else 1
            if announced > back:
                cut = len(data) - back
            break
        self.held = data[cut:]
        return data[:cut].decode("utf-8", errors="replace")

    def flush(self):
        held, self.held = self.held, b""
        return held.decode("utf-8", errors="replace")


# %% wrong_streamdecoder_holds_the_sign
# WRONG: waits as long as the text ends in U+FFFD: a broken byte that can become nothing, and the sign itself, come late
class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.ids = []
        self.given = 0

    def push(self, id):
        self.ids.append(id)
        text = bpe_decode(self.ids, self.tokenizer)
        if text.endswith("\ufffd"):
            text = text.rstrip("\ufffd")
        new = text[self.given :]
        self.given += len(new)
        return new

    def flush(self):
        rest = bpe_decode(self.ids, self.tokenizer)[self.given :]
        self.ids, self.given = [], 0
        return rest


# %% wrong_streamdecoder_keeps_data
# WRONG: flush clears nothing but remembers the shown length
import codecs


class StreamDecoder:
    def __init__(self, tokenizer):
        self.t = tokenizer; self.data = b""; self.shown = 0
    def push(self, id):
        self.data += self.t.token_bytes(id)
        text, _ = codecs.utf_8_decode(self.data, "replace", False)
        new, self.shown = text[self.shown:], len(text)
        return new
    def flush(self):
        text = self.data.decode("utf-8", "replace")
        new, self.shown = text[self.shown:], len(text)
        return new


# %% wrong_streamdecoder_last_byte_only
# WRONG: holds back only one byte: a character over three tokens breaks
import codecs


class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.held = b""

    def push(self, id):
        data = self.held + self.tokenizer.token_bytes(id)
        self.held = b""
        if data[-1] >= 0xC0:
            data, self.held = data[:-1], data[-1:]
        return data.decode(errors="replace")

    def flush(self):
        out, self.held = self.held.decode(errors="replace"), b""
        return out


# %% wrong_streamdecoder_looks_two_back
# WRONG: looks at two bytes only: a character of four breaks after its third
class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.held = b""

    def push(self, id):
        data = self.held + self.tokenizer.token_bytes(id)
        cut = len(data)
        for back in range(1, min(2, len(data)) + 1):
            byte = data[-back]
            if 0x80 <= byte <= 0xBF:
                continue
            announced = 2 if 0xC2 <= byte <= 0xDF else 3 if 0xE0 <= byte <= 0xEF else 4 if 0xF0 <= byte <= 0xF4 else 1
            if announced > back:
                cut = len(data) - back
            break
        self.held = data[cut:]
        return data[:cut].decode("utf-8", errors="replace")

    def flush(self):
        held, self.held = self.held, b""
        return held.decode("utf-8", errors="replace")


# %% wrong_streamdecoder_newline_normal
# WRONG: incremental newline decoder translates line ends
import codecs
import io
class StreamDecoder:
    def __init__(self, tokenizer):
        self.t = tokenizer
        self.d = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder("utf-8")("replace"), translate=True)
    def push(self, id): return self.d.decode(self.t.token_bytes(id))
    def flush(self):
        rest = self.d.decode(b"", True); self.d.reset()
        return rest


# %% wrong_streamdecoder_shared_bytearray
# WRONG: a bytearray that belongs to the class
class StreamDecoder:
    held = bytearray()

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer

    def push(self, id):
        self.held += self.tokenizer.token_bytes(id)
        try:
            text = self.held.decode()
            self.held.clear()
        except UnicodeDecodeError as error:
            text = self.held[: error.start].decode()
            if error.reason == "unexpected end of data":
                del self.held[: error.start]
            else:
                text += "\ufffd" + self.held[error.end :].decode(errors="replace")
                self.held.clear()
        return text

    def flush(self):
        text = self.held.decode(errors="replace")
        self.held.clear()
        return text


# %% wrong_streamdecoder_sig
# WRONG: utf-8-sig: a byte order mark at the beginning is lost
import codecs


class StreamDecoder:
    def __init__(self, tokenizer):
        self.t = tokenizer; self.d = codecs.getincrementaldecoder("utf-8-sig")("replace")
    def push(self, id): return self.d.decode(self.t.token_bytes(id))
    def flush(self):
        rest = self.d.decode(b"", True); self.d.reset()
        return rest


# %% wrong_streamdecoder_special_drops_held
# WRONG: a special token makes it forget the bytes that are held back
class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.held = b""

    def push(self, id):
        if id in self.tokenizer.special_tokens.values():
            self.held = b""
        data = self.held + self.tokenizer.token_bytes(id)
        cut = len(data)
        for back in range(1, min(3, len(data)) + 1):
            byte = data[-back]
            if 0x80 <= byte <= 0xBF:
                continue
            announced = 2 if 0xC2 <= byte <= 0xDF else 3 if 0xE0 <= byte <= 0xEF else 4 if 0xF0 <= byte <= 0xF4 else 1
            if announced > back:
                cut = len(data) - back
            break
        self.held = data[cut:]
        return data[:cut].decode("utf-8", errors="replace")

    def flush(self):
        held, self.held = self.held, b""
        return held.decode("utf-8", errors="replace")


# %% wrong_streamdecoder_special_overtakes
# WRONG: a special token is given out at once: it overtakes the bytes that are held back
class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.held = b""

    def push(self, id):
        if id in self.tokenizer.special_tokens.values():
            return self.tokenizer.token_bytes(id).decode()
        data = self.held + self.tokenizer.token_bytes(id)
        cut = len(data)
        for back in range(1, min(3, len(data)) + 1):
            byte = data[-back]
            if 0x80 <= byte <= 0xBF:
                continue
            announced = 2 if 0xC2 <= byte <= 0xDF else 3 if 0xE0 <= byte <= 0xEF else 4 if 0xF0 <= byte <= 0xF4 else 1
            if announced > back:
                cut = len(data) - back
            break
        self.held = data[cut:]
        return data[:cut].decode("utf-8", errors="replace")

    def flush(self):
        held, self.held = self.held, b""
        return held.decode("utf-8", errors="replace")


# %% wrong_streamdecoder_strict_buffer
# WRONG: waits until all bytes together are valid: one broken byte holds everything back
import codecs


class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.held = b""

    def push(self, id):
        self.held += self.tokenizer.token_bytes(id)
        try:
            text = self.held.decode()
        except UnicodeDecodeError:
            return ""
        self.held = b""
        return text

    def flush(self):
        out, self.held = self.held.decode(errors="replace"), b""
        return out


# %% wrong_streamdecoder_three_bytes_at_most
# WRONG: thinks that no character has four bytes
import codecs


class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.held = b""

    def push(self, id):
        data = self.held + self.tokenizer.token_bytes(id)
        cut = len(data)
        for back in (1, 2):
            if len(data) >= back and data[-back] >= 0xC0:
                if back < (2 if data[-back] < 0xE0 else 3):
                    cut = len(data) - back
                break
        self.held = data[cut:]
        return data[:cut].decode(errors="replace")

    def flush(self):
        out, self.held = self.held.decode(errors="replace"), b""
        return out


# %% wrong_streamdecoder_token_by_token
# WRONG: decodes each token by itself
class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer

    def push(self, id):
        return self.tokenizer.token_bytes(id).decode(errors="replace")

    def flush(self):
        return ""


# %% wrong_streamdecoder_two_bytes_not_held
# WRONG: does not wait for characters of two bytes
class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.held = b""

    def push(self, id):
        data = self.held + self.tokenizer.token_bytes(id)
        cut = len(data)
        for back in range(1, min(3, len(data)) + 1):
            byte = data[-back]
            if 0x80 <= byte <= 0xBF:
                continue
            announced = 3 if 0xE0 <= byte <= 0xEF else 4 if 0xF0 <= byte <= 0xF4 else 1
            if announced > back:
                cut = len(data) - back
            break
        self.held = data[cut:]
        return data[:cut].decode("utf-8", errors="replace")

    def flush(self):
        held, self.held = self.held, b""
        return held.decode("utf-8", errors="replace")


# %% wrong_streamdecoder_waits_after_c0
# WRONG: holds back C0 and C1, though no character begins with them
class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.held = b""

    def push(self, id):
        data = self.held + self.tokenizer.token_bytes(id)
        cut = len(data)
        for back in range(1, min(3, len(data)) + 1):
            byte = data[-back]
            if 0x80 <= byte <= 0xBF:
                continue
            announced = 2 if 0xC0 <= byte <= 0xDF else 3 if 0xE0 <= byte <= 0xEF else 4 if 0xF0 <= byte <= 0xF4 else 1
            if announced > back:
                cut = len(data) - back
            break
        self.held = data[cut:]
        return data[:cut].decode("utf-8", errors="replace")

    def flush(self):
        held, self.held = self.held, b""
        return held.decode("utf-8", errors="replace")


# %% wrong_streamdecoder_waits_after_f5
# WRONG: holds back bytes F5 to FF, though no character begins with them
class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.held = b""

    def push(self, id):
        data = self.held + self.tokenizer.token_bytes(id)
        cut = len(data)
        for back in range(1, min(3, len(data)) + 1):
            byte = data[-back]
            if 0x80 <= byte <= 0xBF:
                continue
            announced = 2 if 0xC2 <= byte <= 0xDF else 3 if 0xE0 <= byte <= 0xEF else 4 if 0xF0 <= byte else 1
            if announced > back:
                cut = len(data) - back
            break
        self.held = data[cut:]
        return data[:cut].decode("utf-8", errors="replace")

    def flush(self):
        held, self.held = self.held, b""
        return held.decode("utf-8", errors="replace")


# %% wrong_streamdecoder_waits_for_four
# WRONG: holds the last three bytes back whatever they are
import codecs


class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.utf8 = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self.held = b""

    def push(self, id):
        data = self.held + self.tokenizer.token_bytes(id)
        self.held = data[-3:]
        return self.utf8.decode(data[:-3])

    def flush(self):
        held, self.held = self.held, b""
        return self.utf8.decode(held, final=True)


# %% wrong_streamdecoder_whole_token_held
# WRONG: holds the whole token back, complete characters in it too
import codecs


class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.held = b""

    def push(self, id):
        self.held += self.tokenizer.token_bytes(id)
        try:
            text = self.held.decode()
        except UnicodeDecodeError as error:
            if error.reason == "unexpected end of data":
                return ""
            text = self.held.decode(errors="replace")
        self.held = b""
        return text

    def flush(self):
        out, self.held = self.held.decode(errors="replace"), b""
        return out

# %% wrong_streamdecoder_shared_class_state, of right_streamdecoder_codecs
# WRONG: the buffer belongs to the class: all streams share it
#   class StreamDecoder:
# +     utf8 = codecs.getincrementaldecoder("utf-8")(errors="replace")
# +
# ...
# -         self.utf8 = codecs.getincrementaldecoder("utf-8")(errors="replace")
# +         pass

# %% wrong_streamdecoder_cumulative, of right_streamdecoder_codecs
# WRONG: gives the whole text with every push
#           self.utf8 = codecs.getincrementaldecoder("utf-8")(errors="replace")
# +         self.text = ""
# ...
# -         return self.utf8.decode(self.tokenizer.token_bytes(id))
# +         self.text += self.utf8.decode(self.tokenizer.token_bytes(id))
# +         return self.text

# %% wrong_streamdecoder_drops_incomplete, of right_streamdecoder_codecs
# WRONG: forgets the bytes of an incomplete character
# -         self.utf8 = codecs.getincrementaldecoder("utf-8")(errors="replace")
# +         pass
# ...
# -         return self.utf8.decode(self.tokenizer.token_bytes(id))
# +         return self.tokenizer.token_bytes(id).decode(errors="ignore")
# ...
# -         return self.utf8.decode(b"", final=True)
# +         return ""

# %% wrong_streamdecoder_ignore, of right_streamdecoder_codecs
# WRONG: drops broken bytes
# -         self.utf8 = codecs.getincrementaldecoder("utf-8")(errors="replace")
# +         self.utf8 = codecs.getincrementaldecoder("utf-8")(errors="ignore")

# %% wrong_streamdecoder_latin1, of right_streamdecoder_codecs
# WRONG: reads the bytes as Latin-1
# -         self.utf8 = codecs.getincrementaldecoder("utf-8")(errors="replace")
# +         self.utf8 = codecs.getincrementaldecoder("latin-1")()

# %% wrong_streamdecoder_one_late, of right_streamdecoder_codecs
# WRONG: gives every piece one push later
#           self.utf8 = codecs.getincrementaldecoder("utf-8")(errors="replace")
# +         self.late = ""
# ...
# -         return self.utf8.decode(self.tokenizer.token_bytes(id))
# +         out, self.late = self.late, self.utf8.decode(self.tokenizer.token_bytes(id))
# +         return out
# ...
# -         return self.utf8.decode(b"", final=True)
# +         out, self.late = self.late, ""
# +         return out + self.utf8.decode(b"", final=True)

# %% wrong_streamdecoder_strict, of right_streamdecoder_codecs
# WRONG: raises on a broken byte
# -         self.utf8 = codecs.getincrementaldecoder("utf-8")(errors="replace")
# +         self.utf8 = codecs.getincrementaldecoder("utf-8")()

# %% wrong_streamdecoder_until_flush, of right_streamdecoder_codecs
# WRONG: gives everything at the end
# -         self.utf8 = codecs.getincrementaldecoder("utf-8")(errors="replace")
# +         self.ids = []
# ...
# -         return self.utf8.decode(self.tokenizer.token_bytes(id))
# +         self.ids.append(id)
# +         return ""
# ...
# -         return self.utf8.decode(b"", final=True)
# +         out, self.ids = bpe_decode(self.ids, self.tokenizer), []
# +         return out

# %% wrong_streamdecoder_until_space, of right_streamdecoder_codecs
# WRONG: holds text back until a space comes
#           self.utf8 = codecs.getincrementaldecoder("utf-8")(errors="replace")
# +         self.word = ""
# ...
# -         return self.utf8.decode(self.tokenizer.token_bytes(id))
# +         self.word += self.utf8.decode(self.tokenizer.token_bytes(id))
# +         cut = self.word.rfind(" ") + 1
# +         out, self.word = self.word[:cut], self.word[cut:]
# +         return out
# ...
# -         return self.utf8.decode(b"", final=True)
# +         out, self.word = self.word, ""
# +         return out + self.utf8.decode(b"", final=True)

# %% wrong_streamdecoder_final_each_push, of right_streamdecoder_codecs
# WRONG: ends the stream with every push
# -         return self.utf8.decode(self.tokenizer.token_bytes(id))
# +         return self.utf8.decode(self.tokenizer.token_bytes(id), final=True)

# %% wrong_streamdecoder_none_when_incomplete, of right_streamdecoder_codecs
# WRONG: returns None instead of an empty text
# -         return self.utf8.decode(self.tokenizer.token_bytes(id))
# +         return self.utf8.decode(self.tokenizer.token_bytes(id)) or None

# %% wrong_streamdecoder_replacement_removed, of right_streamdecoder_codecs
# WRONG: removes every replacement character
# -         return self.utf8.decode(self.tokenizer.token_bytes(id))
# +         return self.utf8.decode(self.tokenizer.token_bytes(id)).replace("\ufffd", "")

# %% wrong_streamdecoder_skips_special, of right_streamdecoder_codecs
# WRONG: leaves special tokens out
# -         return self.utf8.decode(self.tokenizer.token_bytes(id))
# +         return "" if id in self.tokenizer.special_tokens.values() else self.utf8.decode(self.tokenizer.token_bytes(id))

# %% wrong_streamdecoder_strips, of right_streamdecoder_codecs
# WRONG: strips each piece
# -         return self.utf8.decode(self.tokenizer.token_bytes(id))
# +         return self.utf8.decode(self.tokenizer.token_bytes(id)).strip()

# %% wrong_streamdecoder_symbols, of right_streamdecoder_codecs
# WRONG: gives the symbols of the token
# -         return self.utf8.decode(self.tokenizer.token_bytes(id))
# +         return self.tokenizer.id_to_token[id]
# ...
# -         return self.utf8.decode(b"", final=True)
# +         return ""

# %% wrong_streamdecoder_flush_ignore, of right_streamdecoder_codecs
# WRONG: flush drops what is left: errors="ignore"
# -         return self.utf8.decode(b"", final=True)
# +         held = self.utf8.getstate()[0]
# +         self.utf8.reset()
# +         return held.decode(errors="ignore")

# %% wrong_streamdecoder_flush_keeps, of right_streamdecoder_codecs
# WRONG: flush does not empty the buffer
# -         return self.utf8.decode(b"", final=True)
# +         return self.utf8.getstate()[0].decode(errors="replace")

# %% wrong_streamdecoder_flush_none, of right_streamdecoder_codecs
# WRONG: flush returns None
# -         return self.utf8.decode(b"", final=True)
# +         self.utf8.decode(b"", final=True)

# %% wrong_streamdecoder_flush_not_final, of right_streamdecoder_codecs
# WRONG: flush decodes without saying that the end is reached
# -         return self.utf8.decode(b"", final=True)
# +         return self.utf8.decode(b"")

# %% wrong_streamdecoder_flush_one_sign, of right_streamdecoder_codecs
# WRONG: flush writes a fixed sign even if nothing is held back
# -         return self.utf8.decode(b"", final=True)
# +         self.utf8.decode(b"", final=True)
# +         return "\ufffd"

# %% wrong_streamdecoder_never_flushes, of right_streamdecoder_codecs
# WRONG: flush gives nothing: an incomplete character at the end is lost
# -         return self.utf8.decode(b"", final=True)
# +         return ""

# %% wrong_streamdecoder_place_not_reset
# WRONG: gives out what is new in the text of all bytes; flush forgets the bytes and not the place reached
import codecs


class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.data, self.shown = b"", 0

    def push(self, id):
        self.data += self.tokenizer.token_bytes(id)
        text = codecs.getincrementaldecoder("utf-8")(errors="replace").decode(self.data)
        new, self.shown = text[self.shown :], max(self.shown, len(text))
        return new

    def flush(self):
        text = self.data.decode(errors="replace")[self.shown :]
        self.data = b""
        return text
