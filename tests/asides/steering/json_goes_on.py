# Answers to the challenge of the steering day. How they are judged: tests/test_asides.py.


# %% right_descent
# RIGHT: a parser that tells an end that came early from a mistake
class Early(Exception):
    pass


def json_goes_on(text):
    at = 0

    def now():
        if at == len(text):
            raise Early
        return text[at]

    def space():
        nonlocal at
        while at < len(text) and text[at] in " \t\n\r":
            at += 1

    def take(wanted):
        nonlocal at
        if now() not in wanted:
            raise ValueError(at)
        at += 1

    def digits():
        nonlocal at
        take("0123456789")
        while at < len(text) and text[at] in "0123456789":
            at += 1

    def string():
        take('"')
        while now() != '"':
            if now() == "\\":
                take("\\")
                if now() == "u":
                    take("u")
                    for _ in range(4):
                        take("0123456789abcdefABCDEF")
                else:
                    take('"\\/bfnrt')
            elif now() < " ":
                raise ValueError(at)
            else:
                take(now())
        take('"')

    def value():
        nonlocal at
        space()
        letter = now()
        if letter == '"':
            string()
        elif letter == "{":
            take("{")
            space()
            if now() != "}":
                while True:
                    space()
                    string()
                    space()
                    take(":")
                    value()
                    space()
                    if now() == "}":
                        break
                    take(",")
            take("}")
        elif letter == "[":
            take("[")
            space()
            if now() != "]":
                while True:
                    value()
                    space()
                    if now() == "]":
                        break
                    take(",")
            take("]")
        elif letter in "-0123456789":
            if letter == "-":
                take("-")
            if now() == "0":
                take("0")
            else:
                digits()
            if at < len(text) and text[at] == ".":
                take(".")
                digits()
            if at < len(text) and text[at] in "eE":
                take("eE")
                if now() in "+-":
                    take("+-")
                digits()
        else:
            word = {"t": "true", "f": "false", "n": "null"}.get(letter, "?")
            for each in word:
                take(each)

    try:
        value()
        space()
        return at == len(text)
    except Early:
        return True
    except ValueError:
        return False


# %% right_stack
# RIGHT: what is read in one piece by an expression, and a stack of what is open
import re

ATOM = re.compile(r'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*"|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null')
OPEN = re.compile(
    r'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*(?:\\(?:u[0-9a-fA-F]{0,3})?)?'
    r'|-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*|(?:\.[0-9]+)?(?:[eE][+-]?[0-9]*)?)?)?|t(?:ru?)?|f(?:a(?:ls?)?)?|n(?:ul?)?'
)


def json_goes_on(text):
    stack, due, at = [], "value", 0
    while True:
        while at < len(text) and text[at] in " \t\n\r":
            at += 1
        if at == len(text):
            return True
        letter = text[at]
        if due in ("value", "value or ]", "key", "key or }"):
            if due == "value or ]" and letter == "]" or due == "key or }" and letter == "}":
                stack.pop()
                due, at = "after", at + 1
                continue
            if due.startswith("value") and letter in "[{":
                stack.append(letter)
                due, at = "value or ]" if letter == "[" else "key or }", at + 1
                continue
            if due.startswith("key") and letter != '"':
                return False
            whole = ATOM.match(text, at)
            if whole is None or whole.end() < len(text) and OPEN.fullmatch(text, at):
                return OPEN.fullmatch(text, at) is not None
            due, at = "colon" if due.startswith("key") else "after", whole.end()
        elif due == "colon":
            if letter != ":":
                return False
            due, at = "value", at + 1
        elif not stack:
            return False
        elif letter == ",":
            due, at = "value" if stack[-1] == "[" else "key", at + 1
        elif letter == {"[": "]", "{": "}"}[stack[-1]]:
            stack.pop()
            at += 1
        else:
            return False


# %% right_letter_by_letter
# RIGHT: a machine with states, one letter at a time
def json_goes_on(text):
    state, stack = "value", []
    after_number = {"zero", "int", "frac", "exp"}
    for c in text:
        if state in after_number:
            if state in ("int", "frac", "exp") and c in "0123456789":
                continue
            if state in ("zero", "int") and c == ".":
                state = "point"
                continue
            if state in ("zero", "int", "frac") and c in "eE":
                state = "e"
                continue
            state = "after"
        if state in ("string", "keystring"):
            if c == '"':
                state = "after" if state == "string" else "colon"
            elif c == "\\":
                state += "\\"
            elif c < " ":
                return False
        elif state.endswith("\\"):
            if c == "u":
                state = state[:-1] + "\\4"
            elif c in '"\\/bfnrt':
                state = state[:-1]
            else:
                return False
        elif "\\" in state:
            if c not in "0123456789abcdefABCDEF":
                return False
            left = int(state[-1]) - 1
            state = state[:-1] + str(left) if left else state[:-2]
        elif state.startswith("word"):
            if not state[4:].startswith(c):
                return False
            state = "word" + state[5:] if state[5:] else "after"
        elif state == "minus":
            if c not in "0123456789":
                return False
            state = "zero" if c == "0" else "int"
        elif state in ("point", "sign", "e"):
            if state == "e" and c in "+-":
                state = "sign"
            elif c in "0123456789":
                state = "frac" if state == "point" else "exp"
            else:
                return False
        elif c in " \t\n\r":
            continue
        elif state == "first" and c == "]" or state == "firstkey" and c == "}":
            stack.pop()
            state = "after"
        elif state in ("key", "firstkey"):
            if c != '"':
                return False
            state = "keystring"
        elif state == "colon":
            if c != ":":
                return False
            state = "value"
        elif state in ("value", "first"):
            if c in "[{":
                stack.append(c)
                state = "first" if c == "[" else "firstkey"
            elif c == '"':
                state = "string"
            elif c == "-":
                state = "minus"
            elif c in "0123456789":
                state = "zero" if c == "0" else "int"
            elif c in "tfn":
                state = "word" + {"t": "rue", "f": "alse", "n": "ull"}[c]
            else:
                return False
        elif not stack:
            return False
        elif c == ",":
            state = "value" if stack[-1] == "[" else "key"
        elif c == ("]" if stack[-1] == "[" else "}"):
            stack.pop()
        else:
            return False
    return True


# %% wrong_everything
# WRONG: everything may come
def json_goes_on(text):
    return True


# %% wrong_whole_only
# WRONG: whole JSON only
def json_goes_on(text):
    return text == "" or is_json(text)


# %% wrong_brackets_only
# WRONG: counts brackets
def json_goes_on(text):
    stack = []
    for letter in text:
        if letter in "[{":
            stack.append(letter)
        elif letter in "]}":
            if not stack or stack.pop() + letter not in ("[]", "{}"):
                return False
    return True


# %% wrong_comma_before_the_end, of right_letter_by_letter
# WRONG: [1,] is let in
# -             state = "value" if stack[-1] == "[" else "key"
# +             state = "first" if stack[-1] == "[" else "key"


# %% wrong_leading_zero, of right_letter_by_letter
# WRONG: 01 is let in
# -                 state = "zero" if c == "0" else "int"
# +                 state = "int"


# %% wrong_line_break_in_a_string, of right_letter_by_letter
# WRONG: a string goes over two lines
# -             elif c < " ":
# -                 return False
# -         elif state.endswith("\\"):
# +         elif state.endswith("\\"):


# %% wrong_any_escape, of right_letter_by_letter
# WRONG: any letter may be escaped
# -             elif c in '"\\/bfnrt':
# +             elif c:


# %% wrong_top_level_number_refused, of right_letter_by_letter
# WRONG: nothing but objects and lists
# -     return True
# +     return text.strip()[:1] in ("", "[", "{")


# %% wrong_brackets_mixed, of right_letter_by_letter
# WRONG: any bracket closes any other
# -         elif c == ("]" if stack[-1] == "[" else "}"):
# +         elif c in "]}":


# %% wrong_space_of_any_kind, of right_letter_by_letter
# WRONG: what Python takes for white space
# -         elif c in " \t\n\r":
# +         elif c.isspace():


# %% wrong_endings_tried
# WRONG: a few endings, and deeper JSON is refused
def json_goes_on(text):
    endings = ["", '"', "0", "}", "]", '"}', '"]', "0}", "0]", ': 0}', '": 0}', "ull", "rue", "alse", "u0000", '\\"', '"": 0}', "]]", "]}"]
    return any(is_json(text + ending) for ending in endings)


# %% wrong_pythons_own
# WRONG: the place of the error is looked at, and Python's names are let in
def json_goes_on(text):
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated")
    return True


# %% right_machine
# RIGHT: a machine with a stack, character by character
def json_goes_on(text):
    WS, DIG, HEX = " \t\n\r", "0123456789", "0123456789abcdefABCDEF"
    ESC = '"\\/bfnrt'
    stack, state, i, n = [], "value", 0, len(text)
    while i < n:
        c = text[i]
        if state in ("value", "first", "key", "firstkey", "colon", "after") and c in WS:
            i += 1
            continue
        if state in ("key", "firstkey"):
            if c == "}" and state == "firstkey":
                stack.pop(); state = "after"; i += 1; continue
            if c != '"':
                return False
            kind = "key"
        elif state == "colon":
            if c != ":":
                return False
            state = "value"; i += 1; continue
        elif state == "after":
            if not stack:
                return False
            if c == ",":
                state = "key" if stack[-1] == "{" else "value"
            elif c == ("}" if stack[-1] == "{" else "]"):
                stack.pop()
            else:
                return False
            i += 1; continue
        else:
            kind = "value"
            if c == "]" and state == "first":
                stack.pop(); state = "after"; i += 1; continue
            if c == "{":
                stack.append("{"); state = "firstkey"; i += 1; continue
            if c == "[":
                stack.append("["); state = "first"; i += 1; continue
        if c == '"':
            i += 1
            while True:
                if i >= n:
                    return True
                if text[i] == '"':
                    break
                if text[i] < " ":
                    return False
                if text[i] == "\\":
                    i += 1
                    if i >= n:
                        return True
                    if text[i] == "u":
                        for h in text[i + 1 : i + 5]:
                            if h not in HEX:
                                return False
                        i += 4
                        if i >= n:
                            return True
                    elif text[i] not in ESC:
                        return False
                i += 1
            i += 1
            state = "colon" if kind == "key" else "after"
            continue
        if c in "tfn":
            word = {"t": "true", "f": "false", "n": "null"}[c]
            part = text[i : i + len(word)]
            if not word.startswith(part):
                return False
            i += len(word); state = "after"; continue
        if c == "-":
            i += 1
            if i >= n:
                return True
            c = text[i]
        if c not in DIG:
            return False
        i += 1
        if c != "0":
            while i < n and text[i] in DIG:
                i += 1
        if i < n and text[i] == ".":
            i += 1
            if i >= n:
                return True
            if text[i] not in DIG:
                return False
            while i < n and text[i] in DIG:
                i += 1
        if i < n and text[i] in "eE":
            i += 1
            if i < n and text[i] in "+-":
                i += 1
            if i >= n:
                return True
            if text[i] not in DIG:
                return False
            while i < n and text[i] in DIG:
                i += 1
        state = "after"
    return True


# %% wrong_string_whitespace, of right_machine
# WRONG: more white space than JSON has
# -     WS, DIG, HEX = " \t\n\r", "0123456789", "0123456789abcdefABCDEF"
# +     WS, DIG, HEX = " \t\n\r\x0b\x0c", "0123456789", "0123456789abcdefABCDEF"


# %% wrong_control_below_space_only_tn, of right_machine
# WRONG: of the control characters it refuses three
# -                 if text[i] < " ":
# +                 if text[i] in "\n\t\r":


# %% wrong_refuses_escaped_slash_b_f, of right_machine
# WRONG: knows five of the eight escapes
# -     ESC = '"\\/bfnrt'
# +     ESC = '"\\nrt'


# %% wrong_refuses_upper_hex, of right_machine
# WRONG: no capital among the hexadecimal digits
# -     WS, DIG, HEX = " \t\n\r", "0123456789", "0123456789abcdefABCDEF"
# +     WS, DIG, HEX = " \t\n\r", "0123456789", "0123456789abcdef"


# %% wrong_fraction_isdigit
# WRONG: every digit of Unicode in a fraction
def json_goes_on(text):
    WS, DIG, HEX = " \t\n\r", "0123456789", "0123456789abcdefABCDEF"
    ESC = '"\\/bfnrt'
    stack, state, i, n = [], "value", 0, len(text)
    while i < n:
        c = text[i]
        if state in ("value", "first", "key", "firstkey", "colon", "after") and c in WS:
            i += 1
            continue
        if state in ("key", "firstkey"):
            if c == "}" and state == "firstkey":
                stack.pop(); state = "after"; i += 1; continue
            if c != '"':
                return False
            kind = "key"
        elif state == "colon":
            if c != ":":
                return False
            state = "value"; i += 1; continue
        elif state == "after":
            if not stack:
                return False
            if c == ",":
                state = "key" if stack[-1] == "{" else "value"
            elif c == ("}" if stack[-1] == "{" else "]"):
                stack.pop()
            else:
                return False
            i += 1; continue
        else:
            kind = "value"
            if c == "]" and state == "first":
                stack.pop(); state = "after"; i += 1; continue
            if c == "{":
                stack.append("{"); state = "firstkey"; i += 1; continue
            if c == "[":
                stack.append("["); state = "first"; i += 1; continue
        if c == '"':
            i += 1
            while True:
                if i >= n:
                    return True
                if text[i] == '"':
                    break
                if text[i] < " ":
                    return False
                if text[i] == "\\":
                    i += 1
                    if i >= n:
                        return True
                    if text[i] == "u":
                        for h in text[i + 1 : i + 5]:
                            if h not in HEX:
                                return False
                        i += 4
                        if i >= n:
                            return True
                    elif text[i] not in ESC:
                        return False
                i += 1
            i += 1
            state = "colon" if kind == "key" else "after"
            continue
        if c in "tfn":
            word = {"t": "true", "f": "false", "n": "null"}[c]
            part = text[i : i + len(word)]
            if not word.startswith(part):
                return False
            i += len(word); state = "after"; continue
        if c == "-":
            i += 1
            if i >= n:
                return True
            c = text[i]
        if c not in DIG:
            return False
        i += 1
        if c != "0":
            while i < n and text[i] in DIG:
                i += 1
        if i < n and text[i] == ".":
            i += 1
            if i >= n:
                return True
            if not text[i].isdigit():
                return False
            while i < n and text[i].isdigit():
                i += 1
        if i < n and text[i] in "eE":
            i += 1
            if i < n and text[i] in "+-":
                i += 1
            if i >= n:
                return True
            if text[i] not in DIG:
                return False
            while i < n and text[i] in DIG:
                i += 1
        state = "after"
    return True


# %% wrong_hex_unicode_digit, of right_machine
# WRONG: every digit of Unicode behind \u
# -                             if h not in HEX:
# +                             if h not in HEX and not h.isdigit():


# %% wrong_no_space_before_colon, of right_machine
# WRONG: no white space before a colon
# -         if state in ("value", "first", "key", "firstkey", "colon", "after") and c in WS:
# +         if state in ("value", "first", "key", "firstkey", "after") and c in WS:


# %% wrong_refuses_0e, of right_machine
# WRONG: no exponent after 0
# -         if i < n and text[i] in "eE":
# +         if i < n and text[i] in "eE" and text[i-1] != "0":


# %% wrong_refuses_depth_over_20, of right_machine
# WRONG: twenty brackets and no more
# -     stack, state, i, n = [], "value", 0, len(text)
# +     stack, state, i, n = [], "value", 0, len(text)
# +     if text.count("[") > 20: return False


# %% wrong_top_value_object_list_only_and_simple, of right_machine
# WRONG: no bare true, false
# -     stack, state, i, n = [], "value", 0, len(text)
# +     stack, state, i, n = [], "value", 0, len(text)
# +     if text[:1] in "tf" and text: return False


# %% wrong_del_refused, of right_machine
# WRONG: refuses what JSON allows in a string
# -                 if text[i] < " ":
# +                 if text[i] < " " or text[i] == "\x7f" or text[i] > "\uffff":
