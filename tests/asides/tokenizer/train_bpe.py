# Trainings of a byte-pair encoding, in the lesson's cell of the tokens day. How they are judged: tests/test_asides.py.


# %% right_counter
# RIGHT: the lesson's way
def train_bpe(text, num_merges):
    words, merges = [["Ġ", *word] for word in text.split()], []
    for _ in range(num_merges):
        counts = Counter(pair for word in words for pair in pairwise(word))
        if not counts:
            break
        [(pair, _)] = counts.most_common(1)
        words = [merge_pair(word, pair) for word in words]
        merges.append(pair)
    return merges


# %% right_dictionary
# RIGHT: counted in a dictionary, with max, which takes the first of equals
def train_bpe(text, num_merges):
    rows = []
    for word in text.split():
        rows.append(["Ġ"] + list(word))
    found = []
    while len(found) < num_merges:
        counts = {}
        for row in rows:
            for i in range(len(row) - 1):
                counts[(row[i], row[i + 1])] = counts.get((row[i], row[i + 1]), 0) + 1
        if len(counts) == 0:
            return found
        best = max(counts, key=counts.get)
        found.append(best)
        rows = [merge_pair(row, best) for row in rows]
    return found


# %% right_words_counted_once
# RIGHT: equal words together, in the order in which they come
def train_bpe(text, num_merges):
    words = {word: (["Ġ", *word], count) for word, count in Counter(text.split()).items()}
    merges = []
    for _ in range(num_merges):
        counts = Counter()
        for row, count in words.values():
            for pair in zip(row, row[1:]):
                counts[pair] += count
        if not counts:
            break
        merges.append(max(counts, key=lambda pair: counts[pair]))
        words = {word: (merge_pair(row, merges[-1]), count) for word, (row, count) in words.items()}
    return merges


# %% right_sorted
# RIGHT: sorted by count, which leaves equals in their order
def train_bpe(text, num_merges):
    rows, merges = [["Ġ"] + list(word) for word in text.split()], []
    for _ in range(num_merges):
        pairs = [pair for row in rows for pair in pairwise(row)]
        if pairs:
            merges.append(sorted(pairs, key=pairs.count, reverse=True)[0])
            rows = [merge_pair(row, merges[-1]) for row in rows]
    return merges


# %% wrong_last_of_equals, of right_counter
# WRONG: of equally frequent pairs the last
# -         [(pair, _)] = counts.most_common(1)
# -         words = [merge_pair(word, pair) for word in words]
# -         merges.append(pair)
# +         merges.append(max(reversed(list(counts)), key=counts.get))
# +         words = [merge_pair(word, merges[-1]) for word in words]


# %% wrong_alphabet, of right_counter
# WRONG: of equally frequent pairs the last in the alphabet
# -         [(pair, _)] = counts.most_common(1)
# -         words = [merge_pair(word, pair) for word in words]
# -         merges.append(pair)
# +         merges.append(max(counts, key=lambda pair: (counts[pair], pair)))
# +         words = [merge_pair(word, merges[-1]) for word in words]


# %% wrong_first_of_the_alphabet, of right_counter
# WRONG: of equally frequent pairs the first in the alphabet
# -         [(pair, _)] = counts.most_common(1)
# -         words = [merge_pair(word, pair) for word in words]
# -         merges.append(pair)
# +         merges.append(min(counts, key=lambda pair: (-counts[pair], pair)))
# +         words = [merge_pair(word, merges[-1]) for word in words]


# %% wrong_counted_once
# WRONG: counts the pairs once, before the first merge
def train_bpe(text, num_merges):
    counts = Counter(pair for word in text.split() for pair in pairwise(["Ġ", *word]))
    return [pair for pair, _ in counts.most_common(num_merges)]


# %% wrong_across_words
# WRONG: one row for the whole text
def train_bpe(text, num_merges):
    row, merges = [symbol for word in text.split() for symbol in ("Ġ", *word)], []
    for _ in range(num_merges):
        counts = Counter(pairwise(row))
        if not counts:
            break
        merges.append(counts.most_common(1)[0][0])
        row = merge_pair(row, merges[-1])
    return merges


# %% wrong_without_the_space
# WRONG: words without their space
def train_bpe(text, num_merges):
    words, merges = [list(word) for word in text.split()], []
    for _ in range(num_merges):
        counts = Counter(pair for word in words for pair in pairwise(word))
        if not counts:
            break
        merges.append(counts.most_common(1)[0][0])
        words = [merge_pair(word, merges[-1]) for word in words]
    return merges


# %% wrong_each_word_once
# WRONG: different words only, each counted once
def train_bpe(text, num_merges):
    words, merges = [["Ġ", *word] for word in dict.fromkeys(text.split())], []
    for _ in range(num_merges):
        counts = Counter(pair for word in words for pair in pairwise(word))
        if not counts:
            break
        merges.append(counts.most_common(1)[0][0])
        words = [merge_pair(word, merges[-1]) for word in words]
    return merges


# %% wrong_overlaps_counted_once
# WRONG: a a a holds (a, a) once
def train_bpe(text, num_merges):
    words, merges = [["Ġ", *word] for word in text.split()], []
    for _ in range(num_merges):
        counts = Counter()
        for pair in dict.fromkeys(pair for word in words for pair in pairwise(word)):
            counts[pair] = sum(len(word) - len(merge_pair(word, pair)) for word in words)
        if not counts:
            break
        merges.append(counts.most_common(1)[0][0])
        words = [merge_pair(word, merges[-1]) for word in words]
    return merges


# %% wrong_counts_kept
# WRONG: counts brought up to date in one table, in which an old pair stands before a new one
def train_bpe(text, num_merges):
    words, merges, seen = [["Ġ", *word] for word in text.split()], [], {}
    for _ in range(num_merges):
        counts = Counter(pair for word in words for pair in pairwise(word))
        for pair in counts:
            seen.setdefault(pair, len(seen))
        if not counts:
            break
        merges.append(min(counts, key=lambda pair: (-counts[pair], seen[pair])))
        words = [merge_pair(word, merges[-1]) for word in words]
    return merges


# %% wrong_stops_at_twice
# WRONG: leaves out pairs that stand there once
def train_bpe(text, num_merges):
    words, merges = [["Ġ", *word] for word in text.split()], []
    for _ in range(num_merges):
        counts = Counter(pair for word in words for pair in pairwise(word))
        if not counts or counts.most_common(1)[0][1] < 2:
            break
        merges.append(counts.most_common(1)[0][0])
        words = [merge_pair(word, merges[-1]) for word in words]
    return merges


# %% wrong_fails_at_the_end
# WRONG: no pair is left, and it fails
def train_bpe(text, num_merges):
    words, merges = [["Ġ", *word] for word in text.split()], []
    for _ in range(num_merges):
        counts = Counter(pair for word in words for pair in pairwise(word))
        merges.append(counts.most_common(1)[0][0])
        words = [merge_pair(word, merges[-1]) for word in words]
    return merges


# %% wrong_one_too_many
# WRONG: a merge more than asked for
def train_bpe(text, num_merges):
    words, merges = [["Ġ", *word] for word in text.split()], []
    for _ in range(num_merges + 1):
        counts = Counter(pair for word in words for pair in pairwise(word))
        if not counts:
            break
        merges.append(counts.most_common(1)[0][0])
        words = [merge_pair(word, merges[-1]) for word in words]
    return merges


# %% wrong_with_counts, of right_counter
# WRONG: pairs with their counts
# -         [(pair, _)] = counts.most_common(1)
# -         words = [merge_pair(word, pair) for word in words]
# -         merges.append(pair)
# +         merges.append(counts.most_common(1)[0])
# +         words = [merge_pair(word, merges[-1][0]) for word in words]


# %% wrong_joined, of right_counter
# WRONG: the new symbols in place of the pairs
# -         [(pair, _)] = counts.most_common(1)
# +         pair = counts.most_common(1)[0][0]
# +         merges.append("".join(pair))
# ...
# -         merges.append(pair)


# %% wrong_gives_nothing
# WRONG: nothing is given back
def train_bpe(text, num_merges):
    Counter(text.split()).most_common(num_merges)


# %% wrong_words
# WRONG: the words that it leaves, not the merges
def train_bpe(text, num_merges):
    words = [["Ġ", *word] for word in text.split()]
    for _ in range(num_merges):
        counts = Counter(pair for word in words for pair in pairwise(word))
        if counts:
            words = [merge_pair(word, counts.most_common(1)[0][0]) for word in words]
    return words


# %% wrong_a_name_that_is_not_there
# WRONG: a name that nobody has defined
def train_bpe(text, num_merges):
    return most_frequent_pairs(text)[:num_merges]
