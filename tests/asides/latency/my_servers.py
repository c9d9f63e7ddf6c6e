# Answers to "Check what you read" of the latency day, the mean of two percentiles. How they are judged: tests/test_asides.py.


# %% right_alike_in_size
# RIGHT: as many waits each
my_servers = [[0.1] * 100, [1.8] * 100]


# %% right_nearly_all_on_one
# RIGHT: one server has most of the requests
my_servers = [[0.05] * 100, [0.3] * 9700 + [1.7] * 300]


# %% right_a_tail
# RIGHT: two in a hundred are slow, on one server with ten times the requests
my_servers = ([0.1] * 200, [0.2] * 1960 + [1.85] * 40)


# %% right_tuples
# RIGHT: no lists
my_servers = (tuple([1.6] * 150), tuple([0.2] * 120))


# %% wrong_as_released
# WRONG: the cell's own
my_servers = [[0.2] * 100, [0.4] * 100]


# %% wrong_both_slow
# WRONG: the mean says so too
my_servers = [[2.0] * 100, [2.0] * 100]


# %% wrong_too_good
# WRONG: the mean is too dark: nearly nobody waited
my_servers = [[0.1] * 10_000, [9.0] * 100]


# %% wrong_too_few
# WRONG: a p99 of two waits
my_servers = [[0.1, 0.1], [1.8, 1.8]]


# %% wrong_one_server
# WRONG: one list
my_servers = [[1.8] * 100]


# %% wrong_three
# WRONG: three servers
my_servers = [[0.1] * 100, [0.1] * 100, [1.8] * 100]


# %% wrong_mean_too_high
# WRONG: the mean is exactly a second
my_servers = [[0.0] * 100, [2.0] * 100]


# %% wrong_before_the_request
# WRONG: waits below zero bring the mean down
my_servers = [[-5.0] * 100, [5.0] * 100]


# %% wrong_nan
# WRONG: no order
my_servers = [[math.nan] * 100, [1.8] * 100]


# %% wrong_infinite
# WRONG: for ever
my_servers = [[0.1] * 100, [1.8] * 99 + [math.inf]]


# %% wrong_rare
# WRONG: the slow waits are less than one in a hundred of all
my_servers = [[0.1] * 10_000, [0.1] * 95 + [1.8] * 5]


# %% wrong_a_flat_list
# WRONG: waits, and of nobody
my_servers = [0.1, 1.8]
