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
