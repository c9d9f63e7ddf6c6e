# === my_lengths
# Lengths that refute "pads are masked, so they cost nothing". How they are judged: tests/lessons/test_asides.py.


# %% right_seven_short_ones
# RIGHT: the worst there is
my_lengths = [1, 1, 1, 1, 1, 1, 1, 128]


# %% right_the_long_one_first
# RIGHT: four prompts
my_lengths = [128, 2, 2, 2]


# %% right_smaller
# RIGHT: with few tokens
my_lengths = [1, 1, 1, 1, 1, 1, 1, 16]


# %% right_of_six
# RIGHT: six, not all of one token
my_lengths = [3, 100, 5, 4, 6, 7]


# %% wrong_as_released
# WRONG: the cell's own
my_lengths = [16, 16, 16, 16]


# %% wrong_two
# WRONG: two prompts stay below twice
my_lengths = [1, 128]


# %% wrong_three
# WRONG: three prompts stay below three times
my_lengths = [1, 1, 128]


# %% wrong_twice
# WRONG: more than twice, not three times
my_lengths = [8, 8, 8, 8, 40]


# %% wrong_two_long_ones
# WRONG: half of the rows are long
my_lengths = [1, 1, 1, 1, 128, 128, 128, 128]


# %% wrong_none
# WRONG: no prompt
my_lengths = []


# %% wrong_zero
# WRONG: an empty prompt
my_lengths = [0, 0, 0, 0, 0, 0, 128]


# %% wrong_negative
# WRONG: a length below 0
my_lengths = [-5, 1, 1, 1, 128]


# %% wrong_too_many
# WRONG: more than eight
my_lengths = [1] * 30 + [128]


# %% wrong_too_long
# WRONG: longer than the cell takes
my_lengths = [1, 1, 1, 1, 1, 4096]


# %% wrong_halves
# WRONG: half tokens
my_lengths = [1.5, 1.5, 1.5, 1.5, 1.5, 128]


# %% wrong_not_a_number
# WRONG: not a number
my_lengths = [float("nan"), 1, 1, 1, 128]


# === my_prompts
# Prompts for "Find the bug" before decode_batch: a step without a mask. How they are judged: tests/lessons/test_asides.py.


# %% right_two_lengths
# RIGHT: the smallest case
my_prompts = [[5], [6, 7]]


# %% right_three_lengths
# RIGHT: the three rows of the text
my_prompts = [[5, 6, 7], [8], [1, 2, 3, 4]]


# %% right_one_pad_among_many
# RIGHT: one pad in a batch of long rows
my_prompts = [list(range(20, 50)), list(range(20, 49)), list(range(30, 60))]


# %% right_same_text_and_one_more
# RIGHT: equal prompts but for the first token
my_prompts = [[10, 11, 12], [11, 12]]


# %% wrong_as_released
# WRONG: the cell's own
my_prompts = [[5, 6, 7], [8, 9, 10]]


# %% wrong_alone
# WRONG: one prompt
my_prompts = [[5, 6, 7, 8]]


# %% wrong_the_pad_id
# WRONG: prompts that hold the pad id, of equal lengths
my_prompts = [[0, 0, 5], [0, 6, 0]]


# %% wrong_long
# WRONG: long prompts of equal lengths
my_prompts = [list(range(100, 140)), list(range(200, 240))]


# %% wrong_equal
# WRONG: the same prompt many times
my_prompts = [[7]] * 30


# %% wrong_empty
# WRONG: no prompt
my_prompts = []


# %% wrong_empty_prompt
# WRONG: a prompt without a token
my_prompts = [[], [5]]


# %% wrong_outside_the_vocabulary
# WRONG: an id that tiny does not have
my_prompts = [[5, 1024], [6]]


# %% wrong_floats
# WRONG: numbers that are no ids
my_prompts = [[5.0], [6, 7]]


# %% wrong_not_a_number
# WRONG: not a number
my_prompts = [[float("nan"), 5], [6]]


# %% wrong_too_long
# WRONG: unequal, and longer than the cell takes
my_prompts = [[5] * 41, [6]]


# === my_rows
# Prompts for "Find the bug" after left_pad: pads counted by the ids with which a row begins. How they are judged: tests/lessons/test_asides.py.


# %% right_begins_with_it
# RIGHT: the longest prompt begins with the pad id
my_rows = [[2, 5]]


# %% right_short_one
# RIGHT: a short prompt begins with it, behind its own pads
my_rows = [[2, 9], [1, 3, 4, 6]]


# %% right_all_of_it
# RIGHT: a prompt of nothing else
my_rows = [[2], [2, 2, 2]]


# %% right_one_of_many
# RIGHT: one of several, in the last row
my_rows = [[7, 8], [9], [1, 2, 3], [2, 7, 2]]


# %% wrong_as_released
# WRONG: the cell's own
my_rows = [[5, 6, 7], [8, 2], [1, 2, 3, 4]]


# %% wrong_inside
# WRONG: the pad id inside prompts and at their end, never first
my_rows = [[5, 2, 2, 2], [8, 2]]


# %% wrong_zeros
# WRONG: prompts that begin with another id that is often a pad
my_rows = [[0, 0, 5], [0]]


# %% wrong_empty
# WRONG: no prompt
my_rows = []


# %% wrong_empty_prompt
# WRONG: a prompt without a token
my_rows = [[], [2, 5]]


# %% wrong_negative
# WRONG: ids that are none
my_rows = [[2, -1], [3]]


# %% wrong_floats
# WRONG: numbers that are no ids
my_rows = [[2.0, 5.0]]


# %% wrong_not_a_number
# WRONG: not a number
my_rows = [[float("nan"), 2]]


# %% wrong_one_token
# WRONG: one prompt, nothing to pad
my_rows = [[5]]


# %% wrong_outside_the_vocabulary
# WRONG: an id that no token has
my_rows = [[2, 10**9]]


# %% wrong_true
# WRONG: truth values for ids
my_rows = [[2, True]]


# === sorted_batches
# Answers to the challenge of the day of the batch. How they are judged: tests/lessons/test_asides.py.


# %% right_table
# RIGHT: sorted, and the cheapest way to cut what is sorted, from the shortest on
def sorted_batches(lengths, rows):
    order = sorted(range(len(lengths)), key=lambda i: lengths[i])
    count = -(-len(order) // rows)
    best = {(0, 0): (0, [])}
    for end in range(1, len(order) + 1):
        for batches in range(1, count + 1):
            ways = [
                (best[start, batches - 1][0] + (end - start) * lengths[order[end - 1]], start)
                for start in range(max(0, end - rows), end)
                if (start, batches - 1) in best
            ]
            if ways:
                slots, start = min(ways)
                best[end, batches] = slots, [*best[start, batches - 1][1], start]
    cuts = [*best[len(order), count][1], len(order)] if order else []
    return [order[start:end] for start, end in itertools.pairwise(cuts)]


# %% right_spare_places
# RIGHT: from the longest on, remembers where the spare places were used
def sorted_batches(lengths, rows):
    import functools

    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    spare = -len(order) % rows

    @functools.cache
    def cheapest(at, left):
        if at == len(order):
            return 0, None
        found = []
        for unused in range(min(left, rows - 1) + 1):
            size = rows - unused
            if at + size <= len(order):
                found.append((size * lengths[order[at]] + cheapest(at + size, left - unused)[0], size))
        return min(found) if found else (float("inf"), None)

    batches, at, left = [], 0, spare
    while at < len(order):
        size = cheapest(at, left)[1]
        batches.append(order[at : at + size])
        at, left = at + size, left - (rows - size)
    return batches


# %% right_layer_by_layer
# RIGHT: one batch more in each round, tuples for lists
def sorted_batches(lengths, rows):
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    reached = {0: (0, ())}
    for _ in range((len(order) + rows - 1) // rows):
        further = {}
        for start, (slots, batches) in reached.items():
            for end in range(start + 1, min(start + rows, len(order)) + 1):
                way = slots + (end - start) * lengths[order[end - 1]], (*batches, tuple(order[start:end]))
                if end not in further or way[0] < further[end][0]:
                    further[end] = way
        reached = further
    return reached[len(order)][1]


# %% wrong_cut_from_the_shortest
# WRONG: sorted and cut after every `rows`, the shortest first
def sorted_batches(lengths, rows):
    order = sorted(range(len(lengths)), key=lambda i: lengths[i])
    return [order[at : at + rows] for at in range(0, len(order), rows)]


# %% wrong_cut_from_the_longest
# WRONG: sorted and cut after every `rows`, the longest first
def sorted_batches(lengths, rows):
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    return [order[at : at + rows] for at in range(0, len(order), rows)]


# %% wrong_as_they_come
# WRONG: not sorted at all
def sorted_batches(lengths, rows):
    return [list(range(at, min(at + rows, len(lengths)))) for at in range(0, len(lengths), rows)]


# %% wrong_one_by_one
# WRONG: no pad at all, and a batch for every prompt
def sorted_batches(lengths, rows):
    return [[i] for i in range(len(lengths))]


# %% wrong_lengths_not_indices
# WRONG: the lengths in batches, not who has them
def sorted_batches(lengths, rows):
    order = sorted(lengths)
    return [order[at : at + rows] for at in range(0, len(order), rows)]


# %% wrong_equal_lengths_lost
# WRONG: looks indices up by their length, so that equal lengths become one prompt
def sorted_batches(lengths, rows):
    order = [lengths.index(length) for length in sorted(lengths)]
    return [order[at : at + rows] for at in range(0, len(order), rows)]


# %% wrong_even_sizes
# WRONG: batches of nearly equal size
def sorted_batches(lengths, rows):
    order = sorted(range(len(lengths)), key=lambda i: lengths[i])
    count = -(-len(order) // rows)
    return [order[len(order) * b // count : len(order) * (b + 1) // count] for b in range(count)]


# %% wrong_better_of_the_two
# WRONG: the better of the two cuts, from either end
def sorted_batches(lengths, rows):
    ways = []
    for sign in (1, -1):
        order = sorted(range(len(lengths)), key=lambda i: sign * lengths[i])
        ways.append([order[at : at + rows] for at in range(0, len(order), rows)])
    return min(ways, key=lambda batches: slots_of(lengths, batches))


# %% wrong_one_batch_is_short
# WRONG: all batches are full but one, and tries only where that one stands
def sorted_batches(lengths, rows):
    order = sorted(range(len(lengths)), key=lambda i: lengths[i])
    short, ways = len(order) % rows, []
    for first in range(0, len(order) + 1, rows):
        batches = [order[at : at + rows] for at in range(0, first, rows)] + [order[first : first + short]]
        batches += [order[at : at + rows] for at in range(first + short, len(order), rows)]
        ways.append([batch for batch in batches if batch])
    return min(ways, key=lambda batches: slots_of(lengths, batches))


# %% wrong_largest_gaps
# WRONG: cuts at the largest steps between lengths
def sorted_batches(lengths, rows):
    order = sorted(range(len(lengths)), key=lambda i: lengths[i])
    count = -(-len(order) // rows)
    gaps = sorted(range(1, len(order)), key=lambda i: lengths[order[i - 1]] - lengths[order[i]])
    cuts = [0, *sorted(gaps[: max(count - 1, 0)]), len(order)]
    return [order[start:end] for start, end in itertools.pairwise(cuts) if start < end]


# %% wrong_empties_the_callers_list, of right_layer_by_layer
# WRONG: right, but sorts the caller's list
# -     return reached[len(order)][1]
# +     lengths.sort()
# +     return reached[len(order)][1]


# %% wrong_nothing
# WRONG: forgets to give anything back
def sorted_batches(lengths, rows):
    sorted(lengths)


# %% wrong_no_batches
# WRONG: the fewest slots: nobody is read
def sorted_batches(lengths, rows):
    return []
