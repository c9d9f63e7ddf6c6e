# Versions of sse_event, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_sse_event_plain
# RIGHT: line by line; most of the wrong versions are edits of it
def sse_event(data):
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    event = ""
    for line in text.split("\n"):
        event += "data: " + line + "\n"
    event += "\n"
    return event.encode("utf-8")


# %% right_sse_event_replace
# RIGHT: every newline becomes one with data: after it
def sse_event(data):
    if not isinstance(data, str):
        data = json.dumps(data, ensure_ascii=False)
    return b"data: " + data.encode().replace(b"\n", b"\ndata: ") + b"\n\n"


# %% right_sse_event_compact
# RIGHT: JSON without spaces, which is JSON as well; bytes joined
def sse_event(data):
    if isinstance(data, dict):
        if not data:
            return b"data: {}\n\n"
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    else:
        text = data
    lines = [b"data: %b" % line.encode() for line in text.split("\n")]
    return b"\n".join([*lines, b"", b""])


# %% wrong_sse_event_one_newline, of right_sse_event_plain
# WRONG: no empty line after the event
# -     event += "\n"


# %% wrong_sse_event_lines_not_split, of right_sse_event_plain
# WRONG: a text of several lines is one
# -     for line in text.split("\n"):
# +     for line in [text]:


# %% wrong_sse_event_escaped, of right_sse_event_plain
# WRONG: characters are escaped
# -     text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
# +     text = data if isinstance(data, str) else json.dumps(data)


# %% wrong_sse_event_splitlines, of right_sse_event_plain
# WRONG: splitlines also cuts at \x0b, \x85 and U+2028, and forgets the last empty line
# -     for line in text.split("\n"):
# +     for line in text.splitlines():


# %% wrong_sse_event_no_space, of right_sse_event_plain
# WRONG: no space after the colon
# -         event += "data: " + line + "\n"
# +         event += "data:" + line + "\n"


# %% wrong_sse_event_text_as_json, of right_sse_event_plain
# WRONG: a string is sent as JSON, in quotes
# -     text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
# +     text = json.dumps(data, ensure_ascii=False)


# %% wrong_sse_event_json_text_rewritten, of right_sse_event_plain
# WRONG: a string that reads as JSON is parsed and written again, so its spaces and its form of a number change
#       text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
# +     try:
# +         text = json.dumps(json.loads(text), ensure_ascii=False)
# +     except ValueError:
# +         pass


# %% wrong_sse_event_str, of right_sse_event_plain
# WRONG: Python's text of a dict is no JSON
# -     text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
# +     text = str(data)


# %% wrong_sse_event_carriage_return, of right_sse_event_plain
# WRONG: lines end in a carriage return and a newline
# -         event += "data: " + line + "\n"
# +         event += "data: " + line + "\r\n"


# %% wrong_sse_event_text, of right_sse_event_plain
# WRONG: text and not bytes
# -     return event.encode("utf-8")
# +     return event


# %% wrong_sse_event_latin, of right_sse_event_plain
# WRONG: another encoding
# -     return event.encode("utf-8")
# +     return event.encode("utf-16-le")


# %% wrong_sse_event_strips, of right_sse_event_plain
# WRONG: empty lines of the text are lost
# -     for line in text.split("\n"):
# +     for line in text.strip().split("\n"):


# %% wrong_sse_event_skips_empty, of right_sse_event_plain
# WRONG: empty lines in the middle are lost
# -         event += "data: " + line + "\n"
# +         event += "data: " + line + "\n" if line else ""


# %% wrong_sse_event_data_once, of right_sse_event_plain
# WRONG: only the first line has its data:
# -         event += "data: " + line + "\n"
# +         event += ("" if event else "data: ") + line + "\n"


# %% wrong_sse_event_indented, of right_sse_event_plain
# WRONG: JSON on many lines
# -     text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
# +     text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, indent=1)


# %% wrong_sse_event_sorted, of right_sse_event_plain
# WRONG: done is written as JSON too
# -     text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
# +     text = "null" if data == "[DONE]" else data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)


# %% wrong_sse_event_replaces, of right_sse_event_plain
# WRONG: what is no ASCII becomes a question mark
# -     return event.encode("utf-8")
# +     return event.encode("ascii", errors="replace")


# %% wrong_sse_event_marks_in_place, of right_sse_event_plain
# WRONG: the caller's object gets a field
# -     event = ""
# +     event = ""
# +     if isinstance(data, dict):
# +         data["sent"] = True


# %% wrong_sse_event_64_lines, of right_sse_event_plain
# WRONG: a text has 64 lines at most
# -     for line in text.split("\n"):
# +     for line in text.split("\n")[:64]:


# %% wrong_sse_event_64_kib, of right_sse_event_plain
# WRONG: a text is cut at 65,536 characters
# -     for line in text.split("\n"):
# +     for line in text[:65536].split("\n"):


# %% wrong_sse_event_normalised, of right_sse_event_plain
# WRONG: the characters are normalised: a letter and a combining accent become one other character
# -     text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
# +     import unicodedata
# +
# +     text = unicodedata.normalize("NFC", data if isinstance(data, str) else json.dumps(data, ensure_ascii=False))
