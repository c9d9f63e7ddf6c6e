# Wires that refute "the wire's bandwidth decides". How they are judged: tests/test_asides.py.


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
