# Answers to the challenge of the latency day, hedged requests. How they are judged: tests/test_asides.py.


# %% right_in_order
# RIGHT: the longest wait that is not sent twice
def hedge(first, second, budget):
    copies = int(budget * len(first))
    longest = sorted(first, reverse=True)
    patience = longest[copies] if copies < len(longest) else 0.0
    return patience, [min(one, patience + other) if one > patience else one for one, other in zip(first, second)]


# %% right_every_wait
# RIGHT: the smallest of all that hold, found in the order of the waits
def hedge(first, second, budget):
    order = [0.0, *sorted(first)]
    for place, patience in enumerate(order):
        if patience == order[min(place + 1, len(order) - 1)] and place + 1 < len(order):
            continue
        if len(first) - place <= budget * len(first):
            break
    return patience, [min(one, patience + other) for one, other in zip(first, second)]


# %% right_torch
# RIGHT: with torch
def hedge(first, second, budget):
    if not first:
        return 0.0, []
    one, other = torch.tensor(first, dtype=torch.float64), torch.tensor(second, dtype=torch.float64)
    stay = len(first) - math.floor(budget * len(first))
    patience = one.kthvalue(stay).values.item() if stay else 0.0
    return patience, torch.minimum(one, patience + other).tolist()


# %% wrong_percentile
# WRONG: a percentile lies between two waits, and a shorter patience does as well
def hedge(first, second, budget):
    patience = percentile(first, 100 * (1 - budget)) if first else 0.0
    return patience, [min(one, patience + other) for one, other in zip(first, second)]


# %% wrong_over_budget, of right_in_order
# WRONG: one more than the budget allows
# -     copies = int(budget * len(first))
# +     copies = int(budget * len(first)) + 1


# %% wrong_under_budget, of right_in_order
# WRONG: one copy less than is allowed
# -     copies = int(budget * len(first))
# +     copies = max(int(budget * len(first)) - 1, 0)


# %% wrong_second_at_once, of right_in_order
# WRONG: the second server is asked at the beginning
# -     return patience, [min(one, patience + other) if one > patience else one for one, other in zip(first, second)]
# +     return patience, [min(one, other) if one > patience else one for one, other in zip(first, second)]


# %% wrong_gives_up_the_first, of right_in_order
# WRONG: the first answer is not waited for any more
# -     return patience, [min(one, patience + other) if one > patience else one for one, other in zip(first, second)]
# +     return patience, [patience + other if one > patience else one for one, other in zip(first, second)]


# %% wrong_sorted_waits, of right_in_order
# WRONG: the waits come back in another order
# -     return patience, [min(one, patience + other) if one > patience else one for one, other in zip(first, second)]
# +     return patience, sorted(min(one, patience + other) if one > patience else one for one, other in zip(first, second))


# %% wrong_sorts_in_place, of right_in_order
# WRONG: the caller's list is put in order
# -     longest = sorted(first, reverse=True)
# +     first.sort(reverse=True)
# +     longest = first


# %% wrong_everybody_twice, of right_in_order
# WRONG: no patience at all
# -     patience = longest[copies] if copies < len(longest) else 0.0
# +     patience = 0.0


# %% wrong_nobody_twice, of right_in_order
# WRONG: endless patience
# -     patience = longest[copies] if copies < len(longest) else 0.0
# +     patience = math.inf


# %% wrong_no_requests, of right_in_order
# WRONG: breaks without requests
# -     patience = longest[copies] if copies < len(longest) else 0.0
# +     patience = longest[copies] if copies < len(longest) or not longest else 0.0


# %% wrong_nan, of right_in_order
# WRONG: no number
# -     patience = longest[copies] if copies < len(longest) else 0.0
# +     patience = math.nan


# %% wrong_none
# WRONG: nothing comes back
def hedge(first, second, budget):
    pass


# %% wrong_fewer_waits, of right_in_order
# WRONG: only the waits of those who were sent twice
# -     return patience, [min(one, patience + other) if one > patience else one for one, other in zip(first, second)]
# +     return patience, [min(one, patience + other) for one, other in zip(first, second) if one > patience]


# %% wrong_ceil
# WRONG: one request more than the share allows
def hedge(first, second, budget):
    k = math.ceil(budget * len(first))
    order = sorted(first, reverse=True)
    patience = order[k] if k < len(first) else 0.0
    return patience, [w if w <= patience else min(w, patience + s) for w, s in zip(first, second)]


# %% wrong_round
# WRONG: rounded to the nearest, up too
def hedge(first, second, budget):
    k = round(budget * len(first))
    order = sorted(first, reverse=True)
    patience = order[k] if k < len(first) else 0.0
    return patience, [w if w <= patience else min(w, patience + s) for w, s in zip(first, second)]
