# === date_goes_on
# Answers to the discovery of the steering day, what a date may go on with. How they are judged: tests/lessons/test_asides.py.


# %% right_listed
# RIGHT: all beginnings of all dates in a set
from datetime import timedelta

BEGINNINGS = {str(date(2000, 1, 1) + timedelta(n))[:length] for n in range(36_525) for length in range(11)}


def date_goes_on(text):
    return text in BEGINNINGS


# %% right_taken_apart
# RIGHT: year, month and day, each as far as it has come
import calendar


def date_goes_on(text):
    if len(text) > 10 or not set(text) <= set("0123456789-"):
        return False
    year, month, day = text[:4], text[5:7], text[8:10]
    if not "2000"[: min(2, len(year))] == year[:2] or "-" in year + month + day:
        return False
    if text[4:5] not in ("", "-") or text[7:8] not in ("", "-"):
        return False
    months = [m for m in range(1, 13) if f"{m:02}".startswith(month)]
    if not months:
        return False
    if len(text) < 9:
        return True
    return any(f"{d:02}".startswith(day) for d in range(1, calendar.monthrange(int(year), months[0])[1] + 1))


# %% right_some_ending
# RIGHT: one of a few endings makes it a date
import re


def date_goes_on(text):
    if not re.fullmatch("[0-9-]{0,10}", text):
        return False
    ends = ["", "1", "0", "2", "01", "01-01", "1-01", "0-01", "-01", "-01-01", "0-01-01", "00-01-01", "000-01-01", "2000-01-01"]
    for end in ends:
        whole = text + end
        if re.fullmatch("20[0-9]{2}-[0-9]{2}-[0-9]{2}", whole):
            try:
                date.fromisoformat(whole)
            except ValueError:
                continue
            return True
    return False


# %% wrong_whole_dates_only
# WRONG: no beginnings
def date_goes_on(text):
    try:
        return 2000 <= date.fromisoformat(text).year < 2100
    except ValueError:
        return text == ""


# %% wrong_everything
# WRONG: everything may come
def date_goes_on(text):
    return True


# %% wrong_nothing
# WRONG: nothing may come
def date_goes_on(text):
    return False


# %% wrong_thirty_first_of_every_month
# WRONG: the day is not held against the month
BEGINNINGS = {
    f"{year}-{month:02}-{day:02}"[:length]
    for year in range(2000, 2100)
    for month in range(1, 13)
    for day in range(1, 32)
    for length in range(11)
}


def date_goes_on(text):
    return text in BEGINNINGS


# %% wrong_last_century_too, of right_listed
# WRONG: 1999 is no year of these
# - BEGINNINGS = {str(date(2000, 1, 1) + timedelta(n))[:length] for n in range(36_525) for length in range(11)}
# + BEGINNINGS = {str(date(1999, 1, 1) + timedelta(n))[:length] for n in range(36_890) for length in range(11)}


# %% wrong_empty_refused, of right_listed
# WRONG: the empty text begins nothing
# -     return text in BEGINNINGS
# +     return text != "" and text in BEGINNINGS


# %% wrong_month_of_one_digit
# WRONG: a month may have one digit
BEGINNINGS = {
    f"{year}-{month}-{day:02}"[:length]
    for year in range(2000, 2100)
    for month in range(1, 13)
    for day in range(1, 29)
    for length in range(11)
}


def date_goes_on(text):
    return text in BEGINNINGS


# %% wrong_more_after_the_end, of right_listed
# WRONG: behind a whole date anything may come
# -     return text in BEGINNINGS
# +     return text[:10] in BEGINNINGS


# %% wrong_any_digit, of right_taken_apart
# WRONG: what Python takes for a digit
# -     if len(text) > 10 or not set(text) <= set("0123456789-"):
# +     if len(text) > 10 or not all(letter.isdigit() or letter == "-" for letter in text):


# %% wrong_last_day_forgotten
# WRONG: 2099-12-31 is missing
from datetime import timedelta

BEGINNINGS = {str(date(2000, 1, 1) + timedelta(n))[:length] for n in range(36_524) for length in range(11)}


def date_goes_on(text):
    return text in BEGINNINGS


# %% wrong_dollar_lets_a_line_break_follow
# WRONG: $ matches before a line end, too
import re
def date_goes_on(text):
    if len(text) > 11 or not text.isascii():
        return False
    t = text
    if len(t) < 10:
        return any(x.startswith(t) for x in YEAR_DATES.get(t[:4], ())) if len(t) >= 4 else (("20"[:len(t)] == t[:2]) and (len(t) < 3 or t[2] in "0123456789"))
    m = re.match(r"(\d{4})-(\d\d)-(\d\d)$", t)
    if not m or t[:2] != "20":
        return False
    try:
        date(int(m[1]), int(m[2]), int(m[3]))
    except ValueError:
        return False
    return True
YEAR_DATES = {}
for o in range(date(2000, 1, 1).toordinal(), date(2100, 1, 1).toordinal()):
    s = str(date.fromordinal(o)); YEAR_DATES.setdefault(s[:4], []).append(s)


# %% wrong_strip
# WRONG: a line end behind a date is taken off
DATES = {str(date.fromordinal(o))[:k] for o in range(date(2000, 1, 1).toordinal(), date(2100, 1, 1).toordinal()) for k in range(11)}
def date_goes_on(text):
    return text.rstrip("\n") in DATES


# === json_goes_on
# Answers to the challenge of the steering day. How they are judged: tests/lessons/test_asides.py.


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


# === my_logits
# Inputs for "Find the bug" of the steering day, a penalty that always divides. How they are judged: tests/lessons/test_asides.py.


# %% right_negative
# RIGHT: a negative logit is divided
my_logits = [-2.0, 0.5, 4.0]


# %% right_both
# RIGHT: both of those that were said
my_logits = [-1.0, 3.0, -7.5]


# %% right_last
# RIGHT: the one that was said once
my_logits = [2.2, 0.5, -0.1]


# %% right_whole_number
# RIGHT: an integer
my_logits = [-30, 1, 2]


# %% wrong_logits_as_they_are
# WRONG: the cell's own
my_logits = [2.2, 0.5, 4.0]


# %% wrong_not_said
# WRONG: the negative one has not been said
my_logits = [2.2, -0.5, 4.0]


# %% wrong_zeros
# WRONG: 0 stays 0 in both
my_logits = [0.0, 0.5, 0.0]


# %% wrong_large
# WRONG: large ones
my_logits = [1000.0, 0.5, 400.0]


# %% wrong_two
# WRONG: two logits
my_logits = [-2.0, -1.0]


# %% wrong_nan
# WRONG: not a number
my_logits = [math.nan, 0.5, -4.0]


# %% wrong_forbidden
# WRONG: a forbidden token stays forbidden
my_logits = [-math.inf, 0.5, 4.0]


# %% right_hardly
# RIGHT: by however little, a logit below 0 rises
my_logits = [-1e-9, 0.5, 4.0]


# %% right_a_tensor
# RIGHT: the logits in a tensor
my_logits = torch.tensor([-2.0, 0.5, 4.0])


# %% wrong_another_falls_further
# WRONG: token 0 becomes more likely, for token 2 falls further: its logit is lower all the same
my_logits = [2.2, 0.5, 22.0]


# %% wrong_empty
# WRONG: none
my_logits = []


# === my_presence
# Answers to "Check what you read" of the steering day, the presence that halves the odds. How they are judged: tests/lessons/test_asides.py.


# %% right_ln_2
# RIGHT: the logarithm of 2
my_presence = math.log(2)


# %% right_three_digits
# RIGHT: three digits are enough
my_presence = 0.693


# %% right_found_by_trying
# RIGHT: two digits
my_presence = 0.69


# %% wrong_presence_as_it_is
# WRONG: the sentence's own
my_presence = 0.5


# %% wrong_two
# WRONG: the end of the range
my_presence = 2.0


# %% wrong_one
# WRONG: divides by e
my_presence = 1.0


# %% wrong_zero
# WRONG: nothing happens
my_presence = 0.0


# %% wrong_doubled
# WRONG: the other way
my_presence = -math.log(2)


# %% wrong_base_ten
# WRONG: the logarithm of another base
my_presence = math.log10(2)


# %% wrong_nan
# WRONG: not a number
my_presence = math.nan


# %% wrong_infinite
# WRONG: never again
my_presence = math.inf


# %% wrong_near
# WRONG: not near enough
my_presence = 0.71


# === my_said
# Inputs for "Find the bug" of the steering day, a count in which equal ids count once. How they are judged: tests/lessons/test_asides.py.


# %% right_twice
# RIGHT: one id twice
my_said = [1, 1]


# %% right_among_others
# RIGHT: twice, with others between
my_said = [0, 3, 5, 3]


# %% right_often
# RIGHT: a loop
my_said = [4] * 30


# %% wrong_said_as_it_is
# WRONG: the cell's own
my_said = [1, 2, 5]


# %% wrong_one
# WRONG: one id
my_said = [0]


# %% wrong_all
# WRONG: each once
my_said = [5, 4, 3, 2, 1, 0]


# %% wrong_empty
# WRONG: nothing was said
my_said = []


# %% wrong_too_large
# WRONG: no such token
my_said = [6, 6]


# %% wrong_negative
# WRONG: -1 is an index in Python, and no token
my_said = [-1, 5]


# %% wrong_text
# WRONG: words are no ids
my_said = ["a", "a"]


# %% wrong_halves
# WRONG: no whole numbers
my_said = [1.5, 1.5]
