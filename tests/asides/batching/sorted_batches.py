# Answers to the challenge of the day of the batch. How they are judged: tests/test_asides.py.


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
