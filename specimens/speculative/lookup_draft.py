# Versions of lookup_draft, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_lookup_plain
# RIGHT: step by step; most of the wrong versions are edits of it

def lookup_draft(ids, *, max_ngram=3, k=4):
    for n in range(min(max_ngram, len(ids) - 1), 0, -1):
        suffix = ids[-n:]
        for start in range(len(ids) - n - 1, -1, -1):
            if ids[start : start + n] == suffix:
                return ids[start + n : start + n + k]
    return []


# %% right_lookup_by_table
# RIGHT: a table of where each n-gram stood last, filled from the left

def lookup_draft(ids, *, max_ngram=3, k=4):
    T = len(ids)
    for n in reversed(range(1, max_ngram + 1)):
        if n >= T:
            continue
        last = {}
        for start in range(T - n):
            last[tuple(ids[start : start + n])] = start + n
        found = last.get(tuple(ids[T - n :]))
        if found is not None:
            return list(ids[found : found + k])
    return []


# %% right_lookup_longest_match
# RIGHT: at each earlier place, how many tokens before it agree; the best and latest counts

def lookup_draft(ids, *, max_ngram=3, k=4):
    best, place = 0, None
    for end in range(1, len(ids)):
        n = 0
        while n < max_ngram and n < end and ids[end - 1 - n] == ids[-1 - n]:
            n += 1
        if n > 0 and n >= best:
            best, place = n, end
    return [] if place is None else ids[place : place + k]


# %% wrong_lookup_earliest, of right_lookup_plain
# WRONG: takes the earliest occurrence
# -         for start in range(len(ids) - n - 1, -1, -1):
# +         for start in range(len(ids) - n):

# %% wrong_lookup_finds_itself, of right_lookup_plain
# WRONG: finds the suffix itself, and nothing comes after it
# -         for start in range(len(ids) - n - 1, -1, -1):
# +         for start in range(len(ids) - n, -1, -1):

# %% wrong_lookup_shortest_first, of right_lookup_plain
# WRONG: looks for the last token alone first
# -     for n in range(min(max_ngram, len(ids) - 1), 0, -1):
# +     for n in range(1, min(max_ngram, len(ids) - 1) + 1):

# %% wrong_lookup_no_overlap, of right_lookup_plain
# WRONG: an occurrence that overlaps the suffix is passed over
# -         for start in range(len(ids) - n - 1, -1, -1):
# +         for start in range(len(ids) - 2 * n, -1, -1):

# %% wrong_lookup_stops_at_the_suffix, of right_lookup_plain
# WRONG: the guess ends where the suffix begins
# -                 return ids[start + n : start + n + k]
# +                 return ids[start + n : min(start + n + k, len(ids) - n)]

# %% wrong_lookup_with_the_match, of right_lookup_plain
# WRONG: the guess begins with the tokens that matched
# -                 return ids[start + n : start + n + k]
# +                 return ids[start : start + n + k]

# %% wrong_lookup_skips_one, of right_lookup_plain
# WRONG: the token right after the match is left out
# -                 return ids[start + n : start + n + k]
# +                 return ids[start + n + 1 : start + n + 1 + k]

# %% wrong_lookup_only_max_ngram, of right_lookup_plain
# WRONG: no shorter suffix than max_ngram is tried
# -     for n in range(min(max_ngram, len(ids) - 1), 0, -1):
# +     for n in range(min(max_ngram, len(ids) - 1), max(0, min(max_ngram, len(ids) - 1) - 1), -1):

# %% wrong_lookup_not_one, of right_lookup_plain
# WRONG: a suffix of one token is not tried
# -     for n in range(min(max_ngram, len(ids) - 1), 0, -1):
# +     for n in range(min(max_ngram, len(ids) - 1), 1, -1):

# %% wrong_lookup_one_more, of right_lookup_plain
# WRONG: suffixes of max_ngram + 1 tokens are tried too
# -     for n in range(min(max_ngram, len(ids) - 1), 0, -1):
# +     for n in range(min(max_ngram + 1, len(ids) - 1), 0, -1):

# %% wrong_lookup_padded
# WRONG: where fewer than k tokens follow, the guess is filled up with the last one
def lookup_draft(ids, *, max_ngram=3, k=4):
    for n in range(min(max_ngram, len(ids) - 1), 0, -1):
        for start in range(len(ids) - n - 1, -1, -1):
            if ids[start : start + n] == ids[-n:]:
                guess = ids[start + n : start + n + k]
                return guess + guess[-1:] * (k - len(guess))
    return []


# %% wrong_lookup_empty_match
# WRONG: in a text too short for max_ngram nothing is looked for
def lookup_draft(ids, *, max_ngram=3, k=4):
    if len(ids) <= max_ngram:
        return []
    for n in range(max_ngram, 0, -1):
        for start in range(len(ids) - n - 1, -1, -1):
            if ids[start : start + n] == ids[-n:]:
                return ids[start + n : start + n + k]
    return []

# %% wrong_lookup_in_digits
# WRONG: looks in the text's digits: 1 3 is found in 21 3
def lookup_draft(ids, *, max_ngram=3, k=4):
    text = " ".join(map(str, ids))
    for n in range(min(max_ngram, len(ids) - 1), 0, -1):
        at = text[:-1].rfind(" ".join(map(str, ids[-n:])))
        start = text[:at].count(" ") if at >= 0 else len(ids)
        if start + n < len(ids):
            return ids[start + n : start + n + k]
    return []


# %% wrong_lookup_whole_guesses, of right_lookup_plain
# WRONG: passes over an occurrence that fewer than k tokens follow
# -             if ids[start : start + n] == suffix:
# +             if ids[start : start + n] == suffix and start + n + k <= len(ids):

# %% wrong_lookup_near_the_end, of right_lookup_plain
# WRONG: looks at the last 512 tokens only
# - def lookup_draft(ids, *, max_ngram=3, k=4):
# + def lookup_draft(ids, *, max_ngram=3, k=4):
# +     ids = ids[-512:]


# %% wrong_lookup_thousand, of right_lookup_plain
# WRONG: only the newest 1,000 tokens are looked at
#   def lookup_draft(ids, *, max_ngram=3, k=4):
# +     ids = ids[-1000:]


# %% wrong_lookup_64_guesses, of right_lookup_plain
# WRONG: 64 tokens are guessed at most
# -                 return ids[start + n : start + n + k]
# +                 return ids[start + n : start + n + min(k, 64)]


# %% wrong_lookup_eight_tokens, of right_lookup_plain
# WRONG: a suffix has eight tokens at most, whatever max_ngram says
# -     for n in range(min(max_ngram, len(ids) - 1), 0, -1):
# +     for n in range(min(max_ngram, len(ids) - 1, 8), 0, -1):


# %% wrong_lookup_16_bits, of right_lookup_plain
# WRONG: compares the last 16 bits of the ids, so that tokens 65,536 apart are one
# -             if ids[start : start + n] == suffix:
# +             if all((a - b) % 2**16 == 0 for a, b in zip(ids[start : start + n], suffix)):


# %% wrong_lookup_remembers_by_length_and_end
# WRONG: an answer is remembered by the text's length and its last tokens: another text with these gets the same guess
_known = {}


def lookup_draft(ids, *, max_ngram=3, k=4):
    key = (len(ids), *ids[-3:], max_ngram, k)
    if key not in _known:
        _known[key] = []
        for n in range(1, min(max_ngram, len(ids) - 1) + 1):
            for start in range(len(ids) - n):
                if ids[start : start + n] == ids[-n:]:
                    _known[key] = ids[start + n : start + n + k]
    return list(_known[key])
