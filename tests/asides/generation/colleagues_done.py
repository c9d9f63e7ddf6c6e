# Repairs of a rule that waits for all rows at once, in the lesson's cell of the day of the loop. How they are judged: tests/test_asides.py.


# %% right_any_of_a_row
# RIGHT: each row has one somewhere
def colleagues_done(made, eos):
    return bool((made == eos).any(dim=1).all())


# %% right_row_by_row
# RIGHT: in Python's lists
def colleagues_done(made, eos):
    return all(eos in row for row in made.tolist())


# %% right_counted
# RIGHT: the smallest count of a row, as a tensor
def colleagues_done(made, eos):
    return (made == eos).sum(dim=1).min() > 0


# %% right_rows_that_ended
# RIGHT: as many rows with an end as there are rows
def colleagues_done(made, eos):
    return len({row for row, _ in (made == eos).nonzero().tolist()}) == len(made)


# %% right_largest
# RIGHT: the largest truth value of each row
def colleagues_done(made, eos):
    return bool(torch.amax(made.eq(eos), 1).all())


# %% wrong_as_it_stands
# WRONG: the colleague's own
def colleagues_done(made, eos):
    return bool((made[:, -1] == eos).all())


# %% wrong_any_row
# WRONG: done with the first row that ends
def colleagues_done(made, eos):
    return bool((made == eos).any())


# %% wrong_newest_of_any
# WRONG: done with the first row that ends, by its newest token
def colleagues_done(made, eos):
    return bool((made[:, -1] == eos).any())


# %% wrong_as_many_ends_as_rows
# WRONG: ends counted over all rows
def colleagues_done(made, eos):
    return int((made == eos).sum()) >= made.shape[0]


# %% wrong_other_dimension
# WRONG: an end in each step
def colleagues_done(made, eos):
    return bool((made == eos).any(dim=0).all())


# %% wrong_zero
# WRONG: 0, whatever the end is
def colleagues_done(made, eos):
    return bool((made == 0).any(dim=1).all())


# %% wrong_smallest
# WRONG: the smallest id of a row, right for 0 only
def colleagues_done(made, eos):
    return bool((made.min(dim=1).values == 0).all())


# %% wrong_last_two
# WRONG: one of the last two tokens
def colleagues_done(made, eos):
    return bool((made[:, -2:] == eos).any(dim=1).all())


# %% wrong_only_ends
# WRONG: nothing but ends
def colleagues_done(made, eos):
    return bool((made == eos).all())


# %% wrong_never
# WRONG: never
def colleagues_done(made, eos):
    return False


# %% wrong_always
# WRONG: at once
def colleagues_done(made, eos):
    return True


# %% wrong_gives_nothing
# WRONG: nothing is given back
def colleagues_done(made, eos):
    bool((made == eos).any(dim=1).all())


# %% wrong_truth_of_many
# WRONG: a truth value for each row
def colleagues_done(made, eos):
    return (made == eos).any(dim=1)


# %% wrong_not_written
# WRONG: taken out
def colleagues_done(made, eos):
    raise NotImplementedError("colleagues_done")


# %% wrong_a_name_that_is_not_there
# WRONG: a name that nobody has defined
def colleagues_done(made, eos):
    return bool((made == EOS).any(dim=1).all())
