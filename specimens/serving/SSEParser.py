# Versions of SSEParser, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_sse_parser_plain
# RIGHT: one line after the other; most of the wrong versions are edits of it
class SSEParser:
    def __init__(self):
        self.rest = b""
        self.lines = []

    def push(self, piece):
        events = []
        parts = (self.rest + piece).split(b"\n")
        self.rest = parts[-1]
        for line in parts[:-1]:
            if line.endswith(b"\r"):
                line = line[:-1]
            if line == b"":
                if self.lines:
                    events.append("\n".join(self.lines))
                self.lines = []
            elif line.startswith(b"data:"):
                value = line[5:]
                if value.startswith(b" "):
                    value = value[1:]
                self.lines.append(value.decode())
        return events


# %% right_sse_parser_find
# RIGHT: looks for the next newline; the rest is kept in a bytearray
class SSEParser:
    def __init__(self):
        self.buffer = bytearray()
        self.data = None

    def push(self, piece):
        self.buffer += piece
        events, begin = [], 0
        while (end := self.buffer.find(b"\n", begin)) >= 0:
            line = bytes(self.buffer[begin:end]).rstrip(b"\r")
            begin = end + 1
            if not line and self.data is not None:
                events.append(self.data.decode("utf-8"))
                self.data = None
            elif line[:5] == b"data:":
                value = line[6:] if line[5:6] == b" " else line[5:]
                self.data = value if self.data is None else self.data + b"\n" + value
        del self.buffer[:begin]
        return events


# %% right_sse_parser_decoder
# RIGHT: text by an incremental decoder
import codecs


class SSEParser:
    def __init__(self):
        self.decoder = codecs.getincrementaldecoder("utf-8")()
        self.text, self.data = "", []

    def push(self, piece):
        self.text += self.decoder.decode(piece)
        out = []
        *lines, self.text = self.text.split("\n")
        for line in lines:
            name, colon, value = line.removesuffix("\r").partition(":")
            if not name and not colon:
                if self.data:
                    out.append("\n".join(self.data))
                    self.data = []
            elif name == "data" and colon:
                self.data.append(value.removeprefix(" "))
        return out


# %% wrong_sse_parser_each_piece_alone, of right_sse_parser_plain
# WRONG: every piece is parsed alone: an event that is cut in two is lost
# -         parts = (self.rest + piece).split(b"\n")
# +         parts = piece.split(b"\n")


# %% wrong_sse_parser_decodes_pieces
# WRONG: every piece is decoded alone: a character that is cut in two breaks
class SSEParser:
    def __init__(self):
        self.rest, self.lines = "", []

    def push(self, piece):
        events = []
        *parts, self.rest = (self.rest + piece.decode(errors="replace")).split("\n")
        for line in parts:
            line = line.removesuffix("\r")
            if line.startswith("data:"):
                self.lines.append(line[5:].removeprefix(" "))
            elif not line and self.lines:
                events.append("\n".join(self.lines))
                self.lines = []
        return events


# %% wrong_sse_parser_done_as_json, of right_sse_parser_plain
# WRONG: events are read as JSON
# -                     events.append("\n".join(self.lines))
# +                     events.append(json.loads("\n".join(self.lines)))


# %% wrong_sse_parser_drops_done, of right_sse_parser_plain
# WRONG: the end of a stream is kept back
# -                 if self.lines:
# +                 if self.lines and self.lines != ["[DONE]"]:


# %% wrong_sse_parser_joined_without_newline, of right_sse_parser_plain
# WRONG: several data lines are joined by nothing
# -                     events.append("\n".join(self.lines))
# +                     events.append("".join(self.lines))


# %% wrong_sse_parser_line_is_event, of right_sse_parser_plain
# WRONG: every data line is an event
# -                 self.lines.append(value.decode())
# +                 events.append(value.decode())


# %% wrong_sse_parser_carriage_return_kept, of right_sse_parser_plain
# WRONG: a carriage return stays in the line
# -             if line.endswith(b"\r"):
# -                 line = line[:-1]


# %% wrong_sse_parser_strips_value, of right_sse_parser_plain
# WRONG: all spaces around the data are lost
# -                 if value.startswith(b" "):
# -                     value = value[1:]
# +                 value = value.strip(b" ")


# %% wrong_sse_parser_keeps_space, of right_sse_parser_plain
# WRONG: the space after the colon stays
# -                 if value.startswith(b" "):
# -                     value = value[1:]


# %% wrong_sse_parser_wants_space, of right_sse_parser_plain
# WRONG: a line without the space is not seen
# -             elif line.startswith(b"data:"):
# +             elif line.startswith(b"data: "):


# %% wrong_sse_parser_any_data, of right_sse_parser_plain
# WRONG: a field whose name begins with data is taken for it
# -             elif line.startswith(b"data:"):
# +             elif line.startswith(b"data"):


# %% wrong_sse_parser_data_anywhere, of right_sse_parser_plain
# WRONG: data: in the middle of a line is taken for its begin
# -             elif line.startswith(b"data:"):
# -                 value = line[5:]
# +             elif b"data:" in line:
# +                 value = line[line.index(b"data:") + 5 :]


# %% wrong_sse_parser_empty_events, of right_sse_parser_plain
# WRONG: an empty line without data gives an event
# -                 if self.lines:
# -                     events.append("\n".join(self.lines))
# +                 events.append("\n".join(self.lines))


# %% wrong_sse_parser_no_empty_data, of right_sse_parser_plain
# WRONG: an event whose data is empty is skipped
# -                 if self.lines:
# +                 if "".join(self.lines):


# %% wrong_sse_parser_lines_kept, of right_sse_parser_plain
# WRONG: the lines of one event stay for the next
# -                 self.lines = []


# %% wrong_sse_parser_first_only, of right_sse_parser_plain
# WRONG: of several events in one piece only the first is given
# -         return events
# +         return events[:1]


# %% wrong_sse_parser_comment_ends, of right_sse_parser_plain
# WRONG: a comment ends the event
# -             if line == b"":
# +             if line == b"" or line.startswith(b":"):


# %% wrong_sse_parser_other_field_ends, of right_sse_parser_plain
# WRONG: any other field drops what has come of the event
# -                 self.lines.append(value.decode())
# +                 self.lines.append(value.decode())
# +             else:
# +                 self.lines = []


# %% wrong_sse_parser_shared
# WRONG: the incomplete rest is an attribute of the class: two parsers share it
class SSEParser:
    rest = bytearray()
    lines = []

    def push(self, piece):
        events = []
        self.rest += piece
        while b"\n" in self.rest:
            line, _, after = bytes(self.rest).partition(b"\n")
            self.rest[:] = after
            line = line.removesuffix(b"\r")
            if line.startswith(b"data:"):
                self.lines.append(line[5:].removeprefix(b" ").decode())
            elif not line and self.lines:
                events.append("\n".join(self.lines))
                self.lines.clear()
        return events


# %% wrong_sse_parser_rescans
# WRONG: the whole stream is kept and split again with every piece
class SSEParser:
    def __init__(self):
        self.stream, self.given = b"", 0

    def push(self, piece):
        self.stream += piece
        events, lines = [], []
        for line in self.stream.split(b"\n")[:-1]:
            line = line.removesuffix(b"\r")
            if line.startswith(b"data:"):
                lines.append(line[5:].removeprefix(b" "))
            elif not line and lines:
                events.append(b"\n".join(lines).decode())
                lines = []
        new = events[self.given :]
        self.given = len(events)
        return new


# %% wrong_sse_parser_double_newline
# WRONG: splits at two newlines: two that are cut apart by a carriage return are none
class SSEParser:
    def __init__(self):
        self.rest = b""

    def push(self, piece):
        self.rest += piece.replace(b"\r\n", b"\n")
        *events, self.rest = self.rest.split(b"\n\n")
        found = []
        for event in events:
            lines = [line[5:].removeprefix(b" ") for line in event.split(b"\n") if line.startswith(b"data:")]
            if lines:
                found.append(b"\n".join(lines).decode())
        return found


# %% wrong_sse_parser_bytes, of right_sse_parser_plain
# WRONG: bytes in place of text
# -                 self.lines.append(value.decode())
# +                 self.lines.append(value.decode("latin-1"))


# %% wrong_sse_parser_one_late, of right_sse_parser_plain
# WRONG: an event is given with the next piece
# -                     events.append("\n".join(self.lines))
# +                     self.late = "\n".join(self.lines)
# ...
# -         return events
# +         events, self.ready = getattr(self, "ready", []), [self.late] if getattr(self, "late", None) is not None else []
# +         self.late = None
# +         return events


# %% wrong_sse_parser_empty_piece_ends, of right_sse_parser_plain
# WRONG: an empty piece is taken for the end of the stream
# -         events = []
# +         if not piece:
# +             self.rest, self.lines = b"", []
# +         events = []


# %% wrong_sse_parser_done_ends, of right_sse_parser_plain
# WRONG: events after [DONE] in the same piece are lost
# -                 self.lines = []
# +                 self.lines = []
# +                 if events and events[-1] == "[DONE]":
# +                     return events


# %% wrong_sse_parser_splitlines, of right_sse_parser_plain
# WRONG: a data line is cut at other characters than newlines
# -                     events.append("\n".join(self.lines))
# +                     events.append("\n".join("\n".join(self.lines).splitlines()))


# %% wrong_sse_parser_equal_events_once, of right_sse_parser_plain
# WRONG: of two equal events in one piece only one is given
#                   if self.lines:
# -                     events.append("\n".join(self.lines))
# +                     if "\n".join(self.lines) not in events:
# +                         events.append("\n".join(self.lines))


# %% wrong_sse_parser_same_as_before, of right_sse_parser_plain
# WRONG: an event that equals the one before it is dropped
#                   if self.lines:
# -                     events.append("\n".join(self.lines))
# +                     if "\n".join(self.lines) != getattr(self, "last", None):
# +                         events.append("\n".join(self.lines))
# +                     self.last = "\n".join(self.lines)


# %% wrong_sse_parser_line_of_64_kib, of right_sse_parser_plain
# WRONG: a line is cut at 65,536 bytes
# -         self.rest = parts[-1]
# +         self.rest = parts[-1][:65536]


# %% wrong_sse_parser_forty_lines, of right_sse_parser_plain
# WRONG: an event has 40 data lines at most
# -                 self.lines.append(value.decode())
# +                 if len(self.lines) < 40:
# +                     self.lines.append(value.decode())


# %% wrong_sse_parser_carriage_returns_everywhere, of right_sse_parser_plain
# WRONG: a carriage return inside a line ends it
# -         for line in parts[:-1]:
# -             if line.endswith(b"\r"):
# -                 line = line[:-1]
# +         for line in [each for part in parts[:-1] for each in part.removesuffix(b"\r").split(b"\r")]:


# %% wrong_sse_parser_carriage_returns_dropped, of right_sse_parser_plain
# WRONG: every carriage return is dropped, inside a line too
# -         parts = (self.rest + piece).split(b"\n")
# +         parts = (self.rest + piece).replace(b"\r", b"").split(b"\n")


# %% wrong_sse_parser_byte_order_mark, of right_sse_parser_plain
# WRONG: a byte order mark inside the data is dropped
# -                 self.lines.append(value.decode())
# +                 self.lines.append(value.decode("utf-8-sig"))


# %% wrong_sse_parser_data_without_colon, of right_sse_parser_plain
# WRONG: a line "data" without a colon is taken for an empty data line
#               elif line.startswith(b"data:"):
# +                 value = line[5:]
# +                 if value.startswith(b" "):
# +                     value = value[1:]
# +                 self.lines.append(value.decode())
# +             elif line == b"data":
# +                 self.lines.append("")
# +             elif False:
