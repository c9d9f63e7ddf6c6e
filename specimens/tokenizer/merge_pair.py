# Versions of merge_pair, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_merge_pair_plain
# RIGHT: step by step; most of the wrong versions are edits of it
def merge_pair(symbols, pair):
    out = []
    i = 0
    while i < len(symbols):
        if symbols[i : i + 2] == list(pair):
            out.append(pair[0] + pair[1])
            i += 2
        else:
            out.append(symbols[i])
            i += 1
    return out


# %% right_merge_pair_append_and_look_back
# RIGHT: looks back at what it appended, with a flag for merged symbols
def merge_pair(symbols, pair):
    out, fresh = [], []
    for s in symbols:
        if out and fresh[-1] and out[-1] == pair[0] and s == pair[1]:
            out[-1] = pair[0] + s
            fresh[-1] = False
        else:
            out.append(s)
            fresh.append(True)
    return out


# %% right_merge_pair_copy_and_delete
# RIGHT: copies the list and deletes from the copy
def merge_pair(symbols, pair):
    result = list(symbols)
    i = 0
    while i + 1 < len(result):
        if result[i] == pair[0] and result[i + 1] == pair[1]:
            result[i : i + 2] = ["".join(pair)]
        i += 1
    return result


# %% right_merge_pair_index
# RIGHT: looks for the left symbol with list.index, as GPT-2 did
def merge_pair(symbols, pair):
    left, right = pair
    out = []
    i = 0
    while True:
        try:
            j = symbols.index(left, i)
        except ValueError:
            out.extend(symbols[i:])
            return out
        out.extend(symbols[i:j])
        if j + 1 < len(symbols) and symbols[j + 1] == right:
            out.append(left + right)
            i = j + 2
        else:
            out.append(left)
            i = j + 1


# %% right_merge_pair_iterator
# RIGHT: walks an iterator and remembers the symbol before
def merge_pair(symbols, pair):
    merged = []
    waiting = None
    for symbol in symbols:
        if waiting is None:
            waiting = symbol
        elif (waiting, symbol) == tuple(pair):
            merged.append(waiting + symbol)
            waiting = None
        else:
            merged.append(waiting)
            waiting = symbol
    if waiting is not None:
        merged.append(waiting)
    return merged


# %% wrong_merge_pair_at_most_16_characters
# WRONG: joins only up to symbols of 16 characters
def merge_pair(symbols: list[str], pair: tuple[str, str]) -> list[str]:
    left, right = pair
    merged: list[str] = []
    i = 0
    while i < len(symbols):
        if symbols[i : i + 2] == [left, right] and len(left + right) <= 16:
            merged.append(left + right)
            i += 2
        else:
            merged.append(symbols[i])
            i += 1
    return merged


# %% wrong_merge_pair_at_most_500
# WRONG: looks at the first 500 symbols only
def merge_pair(symbols, pair):
    left, right = pair
    symbols = symbols[:500]
    merged, i = [], 0
    while i < len(symbols):
        if symbols[i : i + 2] == [left, right]:
            merged.append(left + right)
            i += 2
        else:
            merged.append(symbols[i])
            i += 1
    return merged


# %% wrong_merge_pair_empty_list
# WRONG: fails on the empty list
def merge_pair(symbols, pair):
    out = [symbols[0]]
    used = False
    for s in symbols[1:]:
        if not used and out[-1] == pair[0] and s == pair[1]:
            out[-1] += s
            used = True
        else:
            out.append(s)
            used = False
    return out


# %% wrong_merge_pair_first_only
# WRONG: merges only the first occurrence
def merge_pair(symbols, pair):
    for i in range(len(symbols) - 1):
        if (symbols[i], symbols[i + 1]) == tuple(pair):
            return symbols[:i] + [pair[0] + pair[1]] + symbols[i + 2 :]
    return list(symbols)


# %% wrong_merge_pair_ignores_case
# WRONG: compares symbols without their case
def merge_pair(symbols: list[str], pair: tuple[str, str]) -> list[str]:
    left, right = pair
    merged: list[str] = []
    i = 0
    while i < len(symbols):
        if [s.lower() for s in symbols[i : i + 2]] == [left.lower(), right.lower()]:
            merged.append(left + right)
            i += 2
        else:
            merged.append(symbols[i])
            i += 1
    return merged


# %% wrong_merge_pair_look_back
# WRONG: a symbol that is merged already is merged again with the next: a a aa
def merge_pair(symbols, pair):
    out = []
    for s in symbols:
        if out and out[-1] == pair[0] and s == pair[1]:
            out[-1] = out[-1] + s
        elif out and out[-1] == pair[0] + pair[1] and s == pair[1]:
            out[-1] = out[-1] + s
        else:
            out.append(s)
    return out


# %% wrong_merge_pair_mutates
# WRONG: merges in the list that was given
def merge_pair(symbols, pair):
    i = 0
    while i + 1 < len(symbols):
        if (symbols[i], symbols[i + 1]) == tuple(pair):
            symbols[i : i + 2] = [pair[0] + pair[1]]
        i += 1
    return symbols


# %% wrong_merge_pair_mutates_at_the_end
# WRONG: a pair at the end of the list is merged in the list that was given
def merge_pair(symbols, pair):
    left, right = pair
    if symbols[-2:] == [left, right] and (left, right) not in zip(symbols[:-2], symbols[1:-1]) and left != right:
        symbols[-2:] = [left + right]
        return symbols
    merged, i = [], 0
    while i < len(symbols):
        if symbols[i : i + 2] == [left, right]:
            merged.append(left + right)
            i += 2
        else:
            merged.append(symbols[i])
            i += 1
    return merged


# %% wrong_merge_pair_mutates_by_pop
# WRONG: right result, but the list that was given is emptied
def merge_pair(symbols, pair):
    out = []
    while symbols:
        s = symbols.pop(0)
        if symbols and s == pair[0] and symbols[0] == pair[1]:
            out.append(s + symbols.pop(0))
        else:
            out.append(s)
    return out


# %% wrong_merge_pair_mutates_whole_pair
# WRONG: a list that is just the pair is changed in place
def merge_pair(symbols, pair):
    left, right = pair
    if symbols == [left, right]:
        symbols[:] = [left + right]
        return symbols
    merged, i = [], 0
    while i < len(symbols):
        if symbols[i : i + 2] == [left, right]:
            merged.append(left + right)
            i += 2
        else:
            merged.append(symbols[i])
            i += 1
    return merged


# %% wrong_merge_pair_overlap_advance_one
# WRONG: steps on by one after a merge and repeats the right symbol
def merge_pair(symbols, pair):
    out = []
    for i in range(len(symbols)):
        if i + 1 < len(symbols) and (symbols[i], symbols[i + 1]) == tuple(pair):
            out.append(pair[0] + pair[1])
        else:
            out.append(symbols[i])
    return out


# %% wrong_merge_pair_replace_in_text
# WRONG: joins with spaces and replaces in the text: a pair may begin inside a symbol
def merge_pair(symbols, pair):
    text = " ".join(symbols)
    return text.replace(" ".join(pair), "".join(pair)).split()


# %% wrong_merge_pair_right_to_left
# WRONG: goes from right to left: aaa becomes a aa
def merge_pair(symbols, pair):
    out = []
    i = len(symbols) - 1
    while i >= 0:
        if i > 0 and (symbols[i - 1], symbols[i]) == tuple(pair):
            out.append(pair[0] + pair[1])
            i -= 2
        else:
            out.append(symbols[i])
            i -= 1
    return out[::-1]


# %% wrong_merge_pair_skips_one
# WRONG: steps on by two also where nothing was merged
def merge_pair(symbols, pair):
    out = []
    for i in range(0, len(symbols), 2):
        if symbols[i : i + 2] == list(pair):
            out.append(pair[0] + pair[1])
        else:
            out.extend(symbols[i : i + 2])
    return out


# %% wrong_merge_pair_strips
# WRONG: strips spaces from the new symbol
def merge_pair(symbols: list[str], pair: tuple[str, str]) -> list[str]:
    left, right = pair
    merged: list[str] = []
    i = 0
    while i < len(symbols):
        if symbols[i : i + 2] == [left, right]:
            merged.append((left + right).strip())
            i += 2
        else:
            merged.append(symbols[i])
            i += 1
    return merged


# %% wrong_merge_pair_two_symbols_left_alone
# WRONG: a list of two symbols comes back as it is
def merge_pair(symbols, pair):
    left, right = pair
    if len(symbols) <= 2:
        return list(symbols)
    merged, i = [], 0
    while i < len(symbols):
        if symbols[i : i + 2] == [left, right]:
            merged.append(left + right)
            i += 2
        else:
            merged.append(symbols[i])
            i += 1
    return merged


# %% wrong_merge_pair_unchanged
# WRONG: returns a copy without merging
def merge_pair(symbols, pair):
    return list(symbols)

# %% wrong_merge_pair_only_length_one, of right_merge_pair_plain
# WRONG: joins only symbols of one character
# -     out = []
# -     i = 0
# +     if len(pair[0]) > 1 or len(pair[1]) > 1:
# +         return list(symbols)
# +     out, i = [], 0

# %% wrong_merge_pair_drops_last, of right_merge_pair_plain
# WRONG: forgets the last symbol
# -     while i < len(symbols):
# -         if symbols[i : i + 2] == list(pair):
# +     while i < len(symbols) - 1:
# +         if (symbols[i], symbols[i + 1]) == tuple(pair):

# %% wrong_merge_pair_last_always_kept, of right_merge_pair_plain
# WRONG: appends the last symbol even when it was merged
# -     while i < len(symbols):
# -         if symbols[i : i + 2] == list(pair):
# +     while i < len(symbols) - 1:
# +         if (symbols[i], symbols[i + 1]) == tuple(pair):
# ...
# -     return out
# +     return out + symbols[-1:]

# %% wrong_merge_pair_compares_texts, of right_merge_pair_plain
# WRONG: compares the joined texts, so (a, bc) counts as (ab, c)
# -         if symbols[i : i + 2] == list(pair):
# +         if i + 1 < len(symbols) and symbols[i] + symbols[i + 1] == pair[0] + pair[1]:

# %% wrong_merge_pair_either_order, of right_merge_pair_plain
# WRONG: merges the pair in either order
# -         if symbols[i : i + 2] == list(pair):
# -             out.append(pair[0] + pair[1])
# +         if i + 1 < len(symbols) and {symbols[i], symbols[i + 1]} == set(pair) and (pair[0] != pair[1] or symbols[i] == symbols[i + 1]):
# +             out.append(symbols[i] + symbols[i + 1])

# %% wrong_merge_pair_overlapping, of right_merge_pair_plain
# WRONG: uses a symbol in two merges: aaa becomes aa aa
# -         if symbols[i : i + 2] == list(pair):
# +         if i + 1 < len(symbols) and (symbols[i], symbols[i + 1]) == tuple(pair):
#               out.append(pair[0] + pair[1])
# -             i += 2
# +             i += 1
# +             if i + 1 == len(symbols):
# +                 break

# %% wrong_merge_pair_cached_list
# WRONG: equal calls get one and the same list from a cache: a caller that appends to it changes all later results
from functools import cache


@cache
def _merged(symbols, pair):
    out = []
    for s in symbols:
        if out and out[-1] == (pair[0], True) and s == pair[1]:
            out[-1] = (pair[0] + s, False)
        else:
            out.append((s, True))
    return [symbol for symbol, _ in out]


def merge_pair(symbols, pair):
    return _merged(tuple(symbols), tuple(pair))


# %% wrong_merge_pair_pattern_not_escaped
# WRONG: searches with a regular expression and does not escape the pair: a dot in it stands for any character
import re


def merge_pair(symbols, pair):
    if not symbols:
        return []
    pattern = re.compile(r"(?<![^\0])" + pair[0] + "\0" + pair[1] + r"(?![^\0])")
    return pattern.sub(lambda found: found.group().replace("\0", ""), "\0".join(symbols)).split("\0")


# %% wrong_merge_pair_past_the_end, of right_merge_pair_plain
# WRONG: looks past the end of the list
# -         if symbols[i : i + 2] == list(pair):
# +         if symbols[i] == pair[0] and symbols[i + 1] == pair[1]:

# %% wrong_merge_pair_swapped, of right_merge_pair_plain
# WRONG: joins the two symbols in the wrong order
# -             out.append(pair[0] + pair[1])
# +             out.append(pair[1] + pair[0])

# %% wrong_merge_pair_tuple_symbol, of right_merge_pair_plain
# WRONG: puts the pair in as a tuple instead of one symbol
# -             out.append(pair[0] + pair[1])
# +             out.append(tuple(pair))


# %% wrong_merge_pair_gives_the_list_back
# WRONG: where the pair does not occur, the caller's own list comes back, no copy
def merge_pair(symbols, pair):
    out, i = [], 0
    while i < len(symbols):
        if tuple(symbols[i : i + 2]) == tuple(pair):
            out.append(pair[0] + pair[1])
            i += 2
        else:
            out.append(symbols[i])
            i += 1
    return symbols if len(out) == len(symbols) else out


# %% wrong_merge_pair_gives_up
# WRONG: after a merge, the first left symbol without its right neighbour ends the search
def merge_pair(symbols, pair):
    out, i, merges = [], 0, 0
    while i < len(symbols):
        if tuple(symbols[i : i + 2]) == tuple(pair):
            out.append(pair[0] + pair[1])
            i += 2
            merges += 1
        elif symbols[i] == pair[0] and merges > 1:
            return out + symbols[i:]
        else:
            out.append(symbols[i])
            i += 1
    return out

# %% wrong_merge_pair_recursive
# WRONG: calls itself for the rest of the list: a thousand symbols are too many calls
def merge_pair(symbols, pair):
    if len(symbols) < 2:
        return list(symbols)
    if symbols[:2] == list(pair):
        return [pair[0] + pair[1]] + merge_pair(symbols[2:], pair)
    return symbols[:1] + merge_pair(symbols[1:], pair)
