# Answers to the discovery of the steering day, what a date may go on with. How they are judged: tests/test_asides.py.


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
