# Cases for "Find the bug": a younger request makes an older one give way, which has been fed. How they are judged: tests/test_asides.py.


# %% right_the_lessons
# RIGHT: B needs a third block while A has room
my_case = [(5, 5), (8, 5)], 4


# %% right_short_and_long
# RIGHT: a short one before a long one
my_case = [(1, 5), (10, 5)], 4


# %% right_lists
# RIGHT: lists in place of tuples
my_case = [[[5, 5], [8, 5]], 4]


# %% right_many
# RIGHT: eight of the longest
my_case = [(99, 99)] * 8, 50


# %% right_three
# RIGHT: three run
my_case = [(3, 9), (3, 9), (4, 9)], 5


# %% wrong_as_released
# WRONG: the cell's own
my_case = [(6, 5), (6, 5)], 4


# %% wrong_much_room
# WRONG: blocks enough for all
my_case = [(5, 5), (8, 5)], 20


# %% wrong_long_before_short
# WRONG: the oldest needs a block first
my_case = [(10, 5), (1, 5)], 4


# %% wrong_alone
# WRONG: one request
my_case = [(8, 5)], 3


# %% wrong_alike
# WRONG: eight alike, in which the oldest asks first
my_case = [(5, 5)] * 8, 4


# %% wrong_never_fits
# WRONG: a request that cannot be finished
my_case = [(5, 5), (8, 50)], 4


# %% wrong_no_request
# WRONG: nobody asks
my_case = [], 4


# %% wrong_nine
# WRONG: more requests than the cell names
my_case = [(5, 5), (8, 5)] * 5, 4


# %% wrong_no_blocks
# WRONG: no blocks
my_case = [(5, 5), (8, 5)], 0


# %% wrong_no_prompt
# WRONG: a prompt without a token
my_case = [(0, 5), (8, 5)], 4


# %% wrong_nothing_asked
# WRONG: no token asked for
my_case = [(5, 0), (8, 5)], 4


# %% wrong_below_nothing
# WRONG: a prompt of less than nothing
my_case = [(-5, 5), (8, 5)], 4


# %% wrong_halves
# WRONG: half a token
my_case = [(5.5, 5), (8, 5)], 4


# %% wrong_not_a_number
# WRONG: not a number
my_case = [(float("nan"), 5), (8, 5)], 4


# %% wrong_blocks_forgotten
# WRONG: requests without the blocks
my_case = [(5, 5), (8, 5)]


# %% wrong_one_number
# WRONG: a request of one number
my_case = [(5, 5), (8,)], 4


# %% wrong_numbers_only
# WRONG: numbers in place of requests
my_case = [5, 8], 4


# %% wrong_words
# WRONG: words
my_case = [("5", "5"), ("8", "5")], "4"


# %% wrong_text
# WRONG: a text
my_case = "my case"


# %% wrong_none
# WRONG: nothing
my_case = None


# %% wrong_number
# WRONG: a number
my_case = 4
