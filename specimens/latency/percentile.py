# Versions of percentile, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_percentile_plain
# RIGHT: step by step; most of the wrong versions are edits of it
def percentile(values, q):
    if not values:
        raise ValueError("no values")
    if not 0 <= q <= 100:
        raise ValueError(f"q must be in [0, 100], got {q}")
    ordered = sorted(values)
    place = q / 100 * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


# %% right_percentile_numpy
# RIGHT: numpy's percentile
import numpy as np
def percentile(values, q):
    if not len(values):
        raise ValueError("a percentile of nothing")
    return float(np.percentile(values, q))


# %% right_percentile_torch
# RIGHT: torch.quantile in float64
import torch
def percentile(values, q):
    if len(values) == 0 or not (q >= 0 and q <= 100):
        raise ValueError("no values, or no percentile", q)
    return torch.quantile(torch.tensor(values, dtype=torch.float64), q / 100).item()


# %% right_percentile_weights
# RIGHT: divmod and a weighted mean
def percentile(values, q):
    if not values or q < 0 or q > 100 or q != q:
        raise ValueError(f"percentile {q} of {len(values)} values")
    v = sorted(values)
    place, share = divmod((len(v) - 1) * q / 100, 1)
    i = int(place)
    return v[i] if i == len(v) - 1 else v[i] * (1 - share) + v[i + 1] * share


# %% wrong_percentile_descending
# WRONG: sorted from the largest
def percentile(values, q):
    v = sorted(values, reverse=True)
    place = q / 100 * (len(v) - 1)
    i = int(place)
    j = min(i + 1, len(v) - 1)
    return v[i] + (place - i) * (v[j] - v[i])


# %% wrong_percentile_fraction
# WRONG: q taken as a share instead of a percentage
# SAYS: q is taken as a share. It is a percentage: 95 stands for 0.95 of the way.
def percentile(values, q):
    v = sorted(values)
    place = min(q * (len(v) - 1), len(v) - 1)
    i = int(place)
    j = min(i + 1, len(v) - 1)
    return v[i] + (place - i) * (v[j] - v[i])


# %% wrong_percentile_in_place
# WRONG: sorts the caller's list
def percentile(values, q):
    values.sort()
    place = q / 100 * (len(values) - 1)
    i = int(place)
    j = min(i + 1, len(values) - 1)
    return values[i] + (place - i) * (values[j] - values[i])


# %% wrong_percentile_mean
# WRONG: the mean for the median
def percentile(values, q):
    return sum(values) / len(values)


# %% wrong_percentile_midpoint
# WRONG: always halfway between the neighbours
# SAYS: The value is always halfway between its neighbours. Go as far as the place is between them.
def percentile(values, q):
    v = sorted(values)
    place = q / 100 * (len(v) - 1)
    i = int(place)
    j = min(i + 1, len(v) - 1)
    return v[i] if place == i else (v[i] + v[j]) / 2


# %% wrong_percentile_nearest
# WRONG: the nearest rank, no interpolation
def percentile(values, q):
    return sorted(values)[round(q / 100 * (len(values) - 1))]


# %% wrong_percentile_over_n
# WRONG: the place counts n ranks instead of n - 1
# SAYS: The place is q/100 x n. Between n values there are n - 1 steps: q/100 x (n - 1).
def percentile(values, q):
    v = sorted(values)
    place = min(q / 100 * len(v), len(v) - 1)
    i = int(place)
    j = min(i + 1, len(v) - 1)
    return v[i] + (place - i) * (v[j] - v[i])


# %% wrong_percentile_rounds_down
# WRONG: the place is rounded down
def percentile(values, q):
    return sorted(values)[int(q / 100 * (len(values) - 1))]


# %% wrong_percentile_rounds_up
# WRONG: the place is rounded up
import math
def percentile(values, q):
    return sorted(values)[math.ceil(q / 100 * (len(values) - 1))]


# %% wrong_percentile_unsorted
# WRONG: the values are not sorted
def percentile(values, q):
    place = q / 100 * (len(values) - 1)
    i = int(place)
    j = min(i + 1, len(values) - 1)
    return values[i] + (place - i) * (values[j] - values[i])

# %% wrong_percentile_index_error_for_nothing, of right_percentile_plain
# WRONG: an IndexError for no values instead of a ValueError
# -     if not values:
# -         raise ValueError("no values")

# %% wrong_percentile_no_error_for_nothing, of right_percentile_plain
# WRONG: 0.0 for no values instead of a ValueError
# -         raise ValueError("no values")
# +         return 0.0

# %% wrong_percentile_any_q, of right_percentile_plain
# WRONG: a q outside 0 to 100 is not refused
# -     if not 0 <= q <= 100:
# -         raise ValueError(f"q must be in [0, 100], got {q}")

# %% wrong_percentile_nan_q, of right_percentile_plain
# WRONG: a q of nan is not refused
# -     if not 0 <= q <= 100:
# +     if q < 0 or q > 100:
# ...
# -     low = int(place)
# +     low = int(place) if place == place else 0

# %% wrong_percentile_negative_q, of right_percentile_plain
# WRONG: a negative q is not refused
# -     if not 0 <= q <= 100:
# +     if q > 100:

# %% wrong_percentile_open_ends, of right_percentile_plain
# WRONG: 0 and 100 are refused, though they are the smallest and the largest value
# -     if not 0 <= q <= 100:
# +     if not 0 < q < 100:

# %% wrong_percentile_q_clamped, of right_percentile_plain
# WRONG: a q outside 0 to 100 is taken for the nearest end instead of a ValueError
# -     if not 0 <= q <= 100:
# -         raise ValueError(f"q must be in [0, 100], got {q}")
# +     q = min(max(q, 0), 100)

# %% wrong_percentile_q_up_to_101, of right_percentile_plain
# WRONG: 101 is taken for a percentile
# -     if not 0 <= q <= 100:
# +     if not 0 <= q <= 101:
# ...
# -     low = int(place)
# +     low = min(int(place), len(ordered) - 1)

# %% wrong_percentile_of_a_thousand, of right_percentile_plain
# WRONG: of more than a thousand values every second one is looked at
#       ordered = sorted(values)
# +     if len(ordered) > 1000:
# +         ordered = ordered[::2]

# %% wrong_percentile_without_repeats, of right_percentile_plain
# WRONG: equal values count once
# -     ordered = sorted(values)
# +     ordered = sorted(set(values))

# %% wrong_percentile_whole_q, of right_percentile_plain
# WRONG: q is cut to a whole number
# -     place = q / 100 * (len(ordered) - 1)
# +     place = int(q) / 100 * (len(ordered) - 1)

# %% wrong_percentile_one_value_for_any_q, of right_percentile_plain
# WRONG: with a single value q is not looked at
#           raise ValueError("no values")
# +     if len(values) == 1:
# +         return values[0]

# %% wrong_percentile_without_zeros, of right_percentile_plain
# WRONG: values of 0 are left out
# -     ordered = sorted(values)
# +     ordered = sorted(v for v in values if v) or [0.0]

# %% wrong_percentile_sorts_long_lists, of right_percentile_plain
# WRONG: sorts the caller's list where it is long
# -     ordered = sorted(values)
# +     ordered = sorted(values) if len(values) < 100 else values
# +     ordered.sort()

# %% wrong_percentile_remembers_the_list, of right_percentile_plain
# WRONG: the sorted values of a list are stored, and used for the same list after it has changed
# SAYS: These are the values that the list had at an earlier call. Sort the values of each call.
# -     ordered = sorted(values)
# +     known = percentile.__dict__.setdefault("known", {})
# +     ordered = known.setdefault(id(values), (sorted(values), values))[0]

# %% wrong_percentile_small_q_is_a_share, of right_percentile_plain
# WRONG: a q of 1 or less is taken for a share: 0.5 gives the median
# -     place = q / 100 * (len(ordered) - 1)
# +     place = (q if 0 < q <= 1 else q / 100) * (len(ordered) - 1)

# %% wrong_percentile_thins_long_lists, of right_percentile_plain
# WRONG: of more than 4,096 values every second one, or every third, is looked at
#       ordered = sorted(values)
# +     ordered = ordered[:: -(-len(ordered) // 4096)]

# %% wrong_percentile_a_sample_of_many, of right_percentile_plain
# WRONG: of more than 10,000 values only every second, or every third, is looked at
# -     ordered = sorted(values)
# +     ordered = sorted(values[:: max(1, len(values) // 10_000)])
