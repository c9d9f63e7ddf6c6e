# === colleagues_choice
# Repairs of the day's bug, a softmax over a part of the vocabulary. How they are judged: tests/lessons/test_asides.py.


# %% right_logits
# RIGHT: the logits themselves
my_logits = [3.0, 2.9, 2.9, 2.0, -5.0, -5.0]


def colleagues_choice(logits: Tensor, comm: Communicator) -> int:
    value, token = logits.max(dim=0)
    mine = torch.tensor([float(value), int(token) + comm.rank * len(logits)], dtype=torch.float64)
    of_all = torch.stack(ring_all_gather(mine, comm))
    return int(of_all[of_all[:, 0].argmax(), 1])


# %% right_before_it_is_found, of right_logits
# RIGHT: repaired, and the cell's own list
# - my_logits = [3.0, 2.9, 2.9, 2.0, -5.0, -5.0]
# + my_logits = [1.0, 3.0, 0.0, 2.0, 2.5, 1.5]


# %% right_all_logits
# RIGHT: all logits travel
my_logits = [1.0, 3.0, 0.0, 2.0, 2.5, 1.5]


def colleagues_choice(logits: Tensor, comm: Communicator) -> int:
    return int(torch.cat(ring_all_gather(logits, comm)).argmax())


# %% right_by_index, of right_logits
# RIGHT: the largest and its index
# -     value, token = logits.max(dim=0)
# +     value, token = (logits.max(), logits.argmax())


# %% wrong_as_released, of right_logits
# WRONG: the colleague's own
# - my_logits = [3.0, 2.9, 2.9, 2.0, -5.0, -5.0]
# + my_logits = [1.0, 3.0, 0.0, 2.0, 2.5, 1.5]
# ...
# -     value, token = logits.max(dim=0)
# +     value, token = logits.softmax(dim=0).max(dim=0)


# %% wrong_logarithms, of right_logits
# WRONG: logarithms of the same probabilities
# -     value, token = logits.max(dim=0)
# +     value, token = logits.log_softmax(dim=0).max(dim=0)


# %% wrong_less_the_mean, of right_logits
# WRONG: each rank takes its own mean away
# -     value, token = logits.max(dim=0)
# +     value, token = (logits - logits.mean()).max(dim=0)


# %% wrong_magnitude, of right_logits
# WRONG: the largest magnitude
# -     value, token = logits.max(dim=0)
# +     value, token = logits.abs().max(dim=0)


# %% wrong_sigmoid, of right_logits
# WRONG: squeezed between 0 and 1, where large ones are alike
# -     value, token = logits.max(dim=0)
# +     value, token = logits.sigmoid().max(dim=0)


# %% wrong_own_number, of right_logits
# WRONG: the token's number on its own rank
# -     mine = torch.tensor([float(value), int(token) + comm.rank * len(logits)], dtype=torch.float64)
# +     mine = torch.tensor([float(value), int(token)], dtype=torch.float64)


# %% wrong_the_least, of right_logits
# WRONG: the least
# -     value, token = logits.max(dim=0)
# +     value, token = logits.min(dim=0)


# %% wrong_no_list, of right_logits
# WRONG: repaired, and no list
# - my_logits = [3.0, 2.9, 2.9, 2.0, -5.0, -5.0]
# + my_logits = None


# === my_logits
# Logits for which each rank's own softmax chooses wrongly. How they are judged: tests/lessons/test_asides.py.


# %% right_close_rivals
# RIGHT: the best has close rivals beside it
my_logits = [3.0, 2.9, 2.9, 2.0, -5.0, -5.0]


# %% right_two
# RIGHT: nobody beside either
my_logits = [1, 2]


# %% right_both_certain
# RIGHT: both say 1
my_logits = [50, 0, 0, 60, 0, 0]


# %% right_on_the_other_rank
# RIGHT: the best lies on rank 1
my_logits = [-8.0, 1.0, 2.0, 1.9]


# %% right_tensor
# RIGHT: a tensor
my_logits = torch.tensor([1.0, 2.0])


# %% right_range
# RIGHT: one behind the other
my_logits = range(4)


# %% wrong_as_released
# WRONG: the cell's own
my_logits = [1.0, 3.0, 0.0, 2.0, 2.5, 1.5]


# %% wrong_alone
# WRONG: the best is far above all
my_logits = [60, 0, 0, 50, 0, 0]


# %% wrong_alike
# WRONG: all alike
my_logits = [0.0] * 10


# %% wrong_same_rivals
# WRONG: both have the same rivals
my_logits = [3.0, 0.0, 0.0, 2.0, 0.0, 0.0]


# %% wrong_odd
# WRONG: an odd number
my_logits = [3.0, 2.9, 2.0]


# %% wrong_empty
# WRONG: none
my_logits = []


# %% wrong_too_many
# WRONG: more than the cell takes
my_logits = [0.0] * 49152


# %% wrong_infinite
# WRONG: infinite
my_logits = [float("-inf"), 1.0]


# %% wrong_not_a_number
# WRONG: not a number
my_logits = [float("nan"), 1.0]


# %% wrong_rows
# WRONG: a matrix
my_logits = torch.rand(2, 3)


# %% wrong_one
# WRONG: one number
my_logits = 3.0


# %% wrong_text
# WRONG: text
my_logits = "abcdef"


# %% wrong_none
# WRONG: nothing
my_logits = None


# === my_numbers
# Numbers that refute "all ranks add the same numbers, so all have the same sum". How they are judged: tests/lessons/test_asides.py.


# %% right_two_large_ones
# RIGHT: two large ones that vanish, and two small ones
my_numbers = [1e17, 1.0, -1e17, 1.0]


# %% right_one_small_one
# RIGHT: one small one
my_numbers = (1e100, 1, -1e100, 0)


# %% right_just_large_enough
# RIGHT: 2 to the 53
my_numbers = [2.0**53, 1, -(2.0**53), 0]


# %% right_whole_numbers
# RIGHT: Python's whole numbers
my_numbers = [10**20, 500, -(10**20), -3]


# %% right_tensor
# RIGHT: a tensor
my_numbers = torch.tensor([1e17, 1.0, -1e17, 1.0], dtype=torch.float64)


# %% wrong_as_released
# WRONG: the cell's own
my_numbers = [1.0, 2.0, 3.0, 4.0]


# %% wrong_last_bit
# WRONG: only the last bits differ
my_numbers = [0.1, 0.2, 0.3, 0.7]


# %% wrong_not_large_enough
# WRONG: less than 1 apart
my_numbers = [1e15, 0.1, 0.3, -1e15]


# %% wrong_stays_large
# WRONG: the large one does not vanish, and all round alike
my_numbers = [1e17, 1, 1, 1]


# %% wrong_large_side_by_side
# WRONG: the large ones meet in time
my_numbers = [0, 0, 1e17, -1e17]


# %% wrong_beyond
# WRONG: sums beyond all numbers
my_numbers = [1e308, 1e308, -1e308, -1e308]


# %% wrong_infinite
# WRONG: infinite
my_numbers = [float("inf"), 1, 2, 3]


# %% wrong_not_a_number
# WRONG: not a number
my_numbers = [float("nan")] * 4


# %% wrong_three
# WRONG: one rank has none
my_numbers = [1e17, 1.0, -1e17]


# %% wrong_lists
# WRONG: a list for each rank
my_numbers = [[1e17, 1.0]] * 4


# %% wrong_one
# WRONG: one number
my_numbers = 1e17


# %% wrong_text
# WRONG: text
my_numbers = "four numbers"


# %% wrong_none
# WRONG: nothing
my_numbers = None


# === my_wire
# Wires that refute "the wire's bandwidth decides". How they are judged: tests/lessons/test_asides.py.


# %% right_ten_times
# RIGHT: ten times the bandwidth, ten times the latency
my_wire = (4500, 20)


# %% right_very_wide
# RIGHT: as wide as one likes
my_wire = (1e6, 30)


# %% right_just_slow_enough
# RIGHT: hardly slower
my_wire = [9000, 17]


# %% right_tensor
# RIGHT: a tensor
my_wire = torch.tensor([4500.0, 20.0])


# %% wrong_as_released
# WRONG: the cell's own
my_wire = (450, 2)


# %% wrong_narrow
# WRONG: slow, but no wider than NVLink
my_wire = (450, 100)


# %% wrong_ethernet
# WRONG: Ethernet
my_wire = (12.5, 30)


# %% wrong_wide_alone
# WRONG: wider, with the same latency
my_wire = (4500, 2)


# %% wrong_not_quite
# WRONG: a latency that is just too short
my_wire = (1e6, 16)


# %% wrong_no_latency
# WRONG: no latency
my_wire = (4500, 0)


# %% wrong_negative
# WRONG: a latency below 0
my_wire = (4500, -20)


# %% wrong_no_bandwidth
# WRONG: nothing to divide by
my_wire = (0, 20)


# %% wrong_in_seconds
# WRONG: bytes a second and seconds
my_wire = (4.5e12, 20e-6)


# %% wrong_infinite
# WRONG: infinite
my_wire = (float("inf"), 20)


# %% wrong_not_a_number
# WRONG: not a number
my_wire = (4500, float("nan"))


# %% wrong_one
# WRONG: one number
my_wire = 4500


# %% wrong_three
# WRONG: three numbers
my_wire = (4500, 20, 8)


# %% wrong_text
# WRONG: text
my_wire = "InfiniBand"


# %% wrong_none
# WRONG: nothing
my_wire = None
