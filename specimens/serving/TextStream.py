# Versions of TextStream, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_text_stream_plain
# RIGHT: step by step; most of the wrong versions are edits of it
class TextStream:
    def __init__(self, tokenizer, params):
        self.decoder = StreamDecoder(tokenizer)
        self.watch = StopStrings(params.stop)
        self.eos = tokenizer.eos_token_id
        self.max_tokens = params.max_tokens
        self.count = 0
        self.finish_reason = None

    def push(self, token_id):
        if self.finish_reason is not None:
            return ""
        self.count += 1
        if token_id == self.eos:
            text, stopped = self.watch.push(self.decoder.flush())
            text += self.watch.flush()
            self.finish_reason = "stop"
            return text
        text, stopped = self.watch.push(self.decoder.push(token_id))
        if not stopped and self.count == self.max_tokens:
            more, stopped = self.watch.push(self.decoder.flush())
            text += more
            if not stopped:
                text += self.watch.flush()
                self.finish_reason = "length"
        if stopped:
            self.finish_reason = "stop"
        return text


# %% right_text_stream_own
# RIGHT: no earlier day's parts: bytes and the held text are its own
import codecs


class TextStream:
    def __init__(self, tokenizer, params):
        self.tokenizer, self.params = tokenizer, params
        self.bytes = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self.held, self.seen, self.finish_reason = "", 0, None

    def push(self, token_id):
        if self.finish_reason:
            return ""
        self.seen += 1
        is_eos = token_id == self.tokenizer.eos_token_id
        last = is_eos or self.seen >= self.params.max_tokens
        data = b"" if is_eos else self.tokenizer.token_bytes(token_id)
        self.held += self.bytes.decode(data, final=last)
        for end in range(1, len(self.held) + 1):
            matches = [stop for stop in self.params.stop if self.held[:end].endswith(stop)]
            if matches:
                self.finish_reason = "stop"
                return self.held[: end - max(map(len, matches))]
        if last:
            self.finish_reason = "stop" if is_eos else "length"
            return self.held
        keep = 0
        for stop in self.params.stop:
            for n in range(min(len(stop) - 1, len(self.held)), keep, -1):
                if self.held.endswith(stop[:n]):
                    keep = n
                    break
        emit = self.held[: len(self.held) - keep]
        self.held = self.held[len(self.held) - keep :]
        return emit


# %% right_text_stream_countdown
# RIGHT: counts down; one piece a push
class TextStream:
    def __init__(self, tokenizer, params):
        self._parts = (StreamDecoder(tokenizer), StopStrings(list(params.stop)))
        self._eos, self._left = tokenizer.eos_token_id, params.max_tokens
        self.finish_reason = None

    def push(self, token_id):
        decoder, stops = self._parts
        if self._left <= 0:
            return ""
        over = token_id == self._eos
        self._left = 0 if over else self._left - 1
        piece = decoder.flush() if over else decoder.push(token_id) + (decoder.flush() if self._left == 0 else "")
        shown, hit = stops.push(piece)
        if hit or over:
            self.finish_reason, self._left = "stop", 0
        elif self._left == 0:
            self.finish_reason = "length"
        return shown if hit or self._left else shown + stops.flush()


# %% wrong_text_stream_eos_text, of right_text_stream_plain
# WRONG: EOS is shown
# -             text, stopped = self.watch.push(self.decoder.flush())
# +             text, stopped = self.watch.push(self.decoder.push(token_id))
#               text += self.watch.flush()


# %% wrong_text_stream_eos_goes_on, of right_text_stream_plain
# WRONG: EOS does not end the answer
# -             self.finish_reason = "stop"
#               return text


# %% wrong_text_stream_eos_is_length, of right_text_stream_plain
# WRONG: EOS as the last token that is allowed is "length"
# -             self.finish_reason = "stop"
# +             self.finish_reason = "length" if self.count == self.max_tokens else "stop"
#               return text


# %% wrong_text_stream_eos_loses_held, of right_text_stream_plain
# WRONG: what is held back is lost at EOS
# -             text += self.watch.flush()
#               self.finish_reason = "stop"


# %% wrong_text_stream_eos_loses_bytes, of right_text_stream_plain
# WRONG: half a character is lost at EOS
# -             text, stopped = self.watch.push(self.decoder.flush())
# +             text, stopped = self.watch.push("")
#               text += self.watch.flush()
#               self.finish_reason = "stop"


# %% wrong_text_stream_length_loses_held, of right_text_stream_plain
# WRONG: what is held back is lost at "length"
# -                 text += self.watch.flush()
#                   self.finish_reason = "length"


# %% wrong_text_stream_length_loses_bytes, of right_text_stream_plain
# WRONG: half a character is lost at "length"
# -             more, stopped = self.watch.push(self.decoder.flush())
# +             more = ""
#               text += more


# %% wrong_text_stream_flush_unwatched, of right_text_stream_plain
# WRONG: what is flushed goes past the stop strings
# -             more, stopped = self.watch.push(self.decoder.flush())
# -             text += more
# -             if not stopped:
# -                 text += self.watch.flush()
# +             if not stopped:
# +                 text += self.watch.flush() + self.decoder.flush()


# %% wrong_text_stream_length_before_stop, of right_text_stream_plain
# WRONG: a stop string with the last token is "length"
#           if stopped:
# -             self.finish_reason = "stop"
# +             self.finish_reason = "length" if self.count == self.max_tokens else "stop"


# %% wrong_text_stream_always_stop, of right_text_stream_plain
# WRONG: "stop" always
# -                 self.finish_reason = "length"
# +                 self.finish_reason = "stop"


# %% wrong_text_stream_one_too_many, of right_text_stream_plain
# WRONG: one token more than allowed
# -         if not stopped and self.count == self.max_tokens:
# +         if not stopped and self.count > self.max_tokens:


# %% wrong_text_stream_one_too_few, of right_text_stream_plain
# WRONG: ends a token early
# -         if not stopped and self.count == self.max_tokens:
# +         if not stopped and self.count >= self.max_tokens - 1:


# %% wrong_text_stream_length_never, of right_text_stream_plain
# WRONG: never ends by its length
# -         if not stopped and self.count == self.max_tokens:
# +         if False:


# %% wrong_text_stream_goes_on, of right_text_stream_plain
# WRONG: after the end tokens are still looked at
# -         if self.finish_reason is not None:
# -             return ""


# %% wrong_text_stream_stop_goes_on, of right_text_stream_plain
# WRONG: a stop string does not end the answer
# -         if stopped:
# -             self.finish_reason = "stop"


# %% wrong_text_stream_no_stops, of right_text_stream_plain
# WRONG: stop strings are not looked for
# -         self.watch = StopStrings(params.stop)
# +         self.watch = StopStrings([])


# %% wrong_text_stream_first_stop_only, of right_text_stream_plain
# WRONG: of several stop strings only the first counts
# -         self.watch = StopStrings(params.stop)
# +         self.watch = StopStrings(params.stop[:1])


# %% wrong_text_stream_stop_letters, of right_text_stream_plain
# WRONG: the stop strings are taken letter by letter
# -         self.watch = StopStrings(params.stop)
# +         self.watch = StopStrings([letter for stop in params.stop for letter in stop])


# %% wrong_text_stream_decodes_alone, of right_text_stream_plain
# WRONG: every token is decoded alone: characters of several tokens break
# -         text, stopped = self.watch.push(self.decoder.push(token_id))
# +         text, stopped = self.watch.push(self.decoder.push(token_id) + self.decoder.flush())


# %% wrong_text_stream_stop_within_tokens
# WRONG: a stop string is looked for in each token's text alone
class TextStream:
    def __init__(self, tokenizer, params):
        self.decoder, self.params = StreamDecoder(tokenizer), params
        self.eos, self.left, self.finish_reason = tokenizer.eos_token_id, params.max_tokens, None

    def push(self, token_id):
        if self.finish_reason:
            return ""
        self.left -= 1
        eos = token_id == self.eos
        text = self.decoder.flush() if eos else self.decoder.push(token_id)
        for stop in self.params.stop:
            if stop in text:
                self.finish_reason = "stop"
                return text.split(stop)[0]
        if eos or self.left == 0:
            self.finish_reason = "stop" if eos else "length"
            text += self.decoder.flush()
        return text


# %% wrong_text_stream_stop_too_late
# WRONG: the stop string is found, but its beginning has been shown
class TextStream:
    def __init__(self, tokenizer, params):
        self.decoder, self.params, self.text = StreamDecoder(tokenizer), params, ""
        self.eos, self.left, self.finish_reason = tokenizer.eos_token_id, params.max_tokens, None

    def push(self, token_id):
        if self.finish_reason:
            return ""
        self.left -= 1
        eos = token_id == self.eos
        piece = self.decoder.flush() if eos else self.decoder.push(token_id)
        if self.left == 0:
            piece += self.decoder.flush()
        before = len(self.text)
        self.text += piece
        at = [self.text.find(stop) for stop in self.params.stop if stop in self.text]
        if at:
            self.finish_reason = "stop"
            return self.text[before : min(at)]
        if eos or self.left == 0:
            self.finish_reason = "stop" if eos else "length"
        return piece


# %% wrong_text_stream_stop_shown, of right_text_stream_plain
# WRONG: the stop string is shown
#           if stopped:
# -             self.finish_reason = "stop"
# +             self.finish_reason = "stop"
# +             text += "".join(self.watch.stops[:1])


# %% wrong_text_stream_all_at_the_end
# WRONG: everything comes with the last token
class TextStream:
    def __init__(self, tokenizer, params):
        self.decoder, self.stops, self.text = StreamDecoder(tokenizer), StopStrings(params.stop), ""
        self.eos, self.left, self.finish_reason = tokenizer.eos_token_id, params.max_tokens, None

    def push(self, token_id):
        if self.finish_reason:
            return ""
        self.left -= 1
        eos = token_id == self.eos
        ended = eos or self.left == 0
        piece = "" if eos else self.decoder.push(token_id)
        emit, stopped = self.stops.push(piece + (self.decoder.flush() if ended else ""))
        self.text += emit
        if stopped or ended:
            self.finish_reason = "stop" if stopped or eos else "length"
            return self.text + ("" if stopped else self.stops.flush())
        return ""


# %% wrong_text_stream_shared
# WRONG: decoder and stop strings are attributes of the class: two answers share them
class TextStream:
    decoder = stops = None

    def __init__(self, tokenizer, params):
        TextStream.decoder, TextStream.stops = StreamDecoder(tokenizer), StopStrings(params.stop)
        self.eos, self.left, self.finish_reason = tokenizer.eos_token_id, params.max_tokens, None

    def push(self, token_id):
        if self.finish_reason:
            return ""
        self.left -= 1
        eos = token_id == self.eos
        ended = eos or self.left == 0
        piece = "" if eos else self.decoder.push(token_id)
        emit, stopped = self.stops.push(piece + (self.decoder.flush() if ended else ""))
        if stopped or ended:
            self.finish_reason = "stop" if stopped or eos else "length"
        return emit + self.stops.flush() if ended and not stopped else emit


# %% wrong_text_stream_rescans
# WRONG: all tokens are decoded again with each new one
class TextStream:
    def __init__(self, tokenizer, params):
        self.tokenizer, self.params, self.ids, self.shown = tokenizer, params, [], 0
        self.finish_reason = None

    def push(self, token_id):
        if self.finish_reason:
            return ""
        self.ids.append(token_id)
        eos = token_id == self.tokenizer.eos_token_id
        ended = eos or len(self.ids) == self.params.max_tokens
        decoder, stops = StreamDecoder(self.tokenizer), StopStrings(self.params.stop)
        text = "".join(decoder.push(i) for i in self.ids if i != self.tokenizer.eos_token_id)
        emit, stopped = stops.push(text + (decoder.flush() if ended else ""))
        if stopped or ended:
            self.finish_reason = "stop" if stopped or eos else "length"
        if ended and not stopped:
            emit += stops.flush()
        new, self.shown = emit[self.shown :], len(emit)
        return new


# %% wrong_text_stream_walks_all
# WRONG: the whole answer is walked through at each push, to find what may begin a stop string
class TextStream:
    def __init__(self, tokenizer, params):
        self.decoder, self.stops, self.firsts = StreamDecoder(tokenizer), params.stop, {stop[0] for stop in params.stop}
        self.eos, self.left, self.finish_reason = tokenizer.eos_token_id, params.max_tokens, None
        self.text, self.shown = "", 0

    def push(self, token_id):
        if self.finish_reason:
            return ""
        self.left -= 1
        eos = token_id == self.eos
        ended = eos or self.left == 0
        piece = "" if eos else self.decoder.push(token_id)
        self.text += piece + (self.decoder.flush() if ended else "")
        found = [(start + len(stop), start) for stop in self.stops if (start := self.text.find(stop)) >= 0]
        end = len(self.text)
        if found:
            end = min(found)[1]
        elif not ended:
            for cut, letter in enumerate(self.text):
                if letter in self.firsts and any(stop.startswith(self.text[cut:]) for stop in self.stops):
                    end = cut
                    break
        if found or ended:
            self.finish_reason = "stop" if found or eos else "length"
        new, self.shown = self.text[self.shown : end], end
        return new


# %% wrong_text_stream_eos_fixed, of right_text_stream_plain
# WRONG: another special token ends the answer
# -         self.eos = tokenizer.eos_token_id
# +         self.eos = 0


# %% wrong_text_stream_any_special, of right_text_stream_plain
# WRONG: any special token ends the answer
# -         if token_id == self.eos:
# +         if token_id <= self.eos:


# %% wrong_text_stream_empty_reason, of right_text_stream_plain
# WRONG: finish_reason is the empty string while the answer goes on
# -         self.finish_reason = None
# +         self.finish_reason = ""
# ...
# -         if self.finish_reason is not None:
# +         if self.finish_reason:


# %% wrong_text_stream_no_text_no_end, of right_text_stream_plain
# WRONG: a last token that completes no character ends nothing
# -         text, stopped = self.watch.push(self.decoder.push(token_id))
# +         piece = self.decoder.push(token_id)
# +         if not piece:
# +             return ""
# +         text, stopped = self.watch.push(piece)


# %% wrong_text_stream_none_behind, of right_text_stream_plain
# WRONG: after the end push gives None
# -             return ""
# +             return None


# %% wrong_text_stream_eos_before_flush, of right_text_stream_plain
# WRONG: at EOS the held text is given, but a stop string that half a character completes is shown
# -             text, stopped = self.watch.push(self.decoder.flush())
# -             text += self.watch.flush()
# +             text = self.watch.flush() + self.decoder.flush()


# %% wrong_text_stream_stop_of_64, of right_text_stream_plain
# WRONG: a stop string longer than 64 characters is cut
# -         self.watch = StopStrings(params.stop)
# +         self.watch = StopStrings([stop[:64] for stop in params.stop])


# %% wrong_text_stream_stops_beyond_64_ignored, of right_text_stream_plain
# WRONG: a stop string longer than 64 characters is not looked for
# -         self.watch = StopStrings(params.stop)
# +         self.watch = StopStrings([stop for stop in params.stop if len(stop) <= 64])


# %% wrong_text_stream_begins_first
# WRONG: of two stop strings that one token completes the one that begins first wins, not the one that is complete first
class TextStream:
    def __init__(self, tokenizer, params):
        self.decoder, self.stops = StreamDecoder(tokenizer), params.stop
        self.watch = StopStrings(params.stop)
        self.eos, self.left, self.finish_reason, self.shown, self.text = tokenizer.eos_token_id, params.max_tokens, None, 0, ""

    def push(self, token_id):
        if self.finish_reason is not None:
            return ""
        self.left -= 1
        ended = token_id == self.eos or self.left == 0
        text = "" if token_id == self.eos else self.decoder.push(token_id)
        text += self.decoder.flush() if ended else ""
        self.text += text
        emit, stopped = self.watch.push(text)
        if stopped:
            self.finish_reason = "stop"
            emit = self.text[self.shown : min(at for stop in self.stops if (at := self.text.find(stop)) >= 0)]
        elif ended:
            self.finish_reason = "stop" if token_id == self.eos else "length"
            emit += self.watch.flush()
        self.shown += len(emit)
        return emit


# %% wrong_text_stream_equal_stops
# WRONG: equal stop strings take each other off: a stop string that is given twice is not looked for
class TextStream:
    def __init__(self, tokenizer, params):
        self.decoder = StreamDecoder(tokenizer)
        self.watch = StopStrings([stop for stop in params.stop if params.stop.count(stop) == 1])
        self.eos, self.left, self.finish_reason = tokenizer.eos_token_id, params.max_tokens, None

    def push(self, token_id):
        if self.finish_reason is not None:
            return ""
        self.left -= 1
        ended = token_id == self.eos or self.left == 0
        text = "" if token_id == self.eos else self.decoder.push(token_id)
        emit, stopped = self.watch.push(text + (self.decoder.flush() if ended else ""))
        if stopped or ended:
            self.finish_reason = "stop" if stopped or token_id == self.eos else "length"
        return emit + (self.watch.flush() if ended else "")


# %% wrong_text_stream_512_tokens, of right_text_stream_plain
# WRONG: an answer ends after 512 tokens
# -         self.max_tokens = params.max_tokens
# +         self.max_tokens = min(params.max_tokens, 512)


# %% wrong_text_stream_eos_of_zero, of right_text_stream_plain
# WRONG: an EOS that is token 0 counts as none
# -         if token_id == self.eos:
# +         if self.eos and token_id == self.eos:


# %% wrong_text_stream_eos_of_none, of right_text_stream_plain
# WRONG: token 0 ends the answer of a tokenizer without EOS
# -         self.eos = tokenizer.eos_token_id
# +         self.eos = tokenizer.eos_token_id or 0
