# Prompts for "Find the bug" of the day of the loop, a batch that waits for all rows at once. How they are judged: tests/test_asides.py.


# %% right_figure
# RIGHT: the two rows of the figure
my_prompts = ["the", "dog"]


# %% right_three
# RIGHT: one row of three is nearer to its end
my_prompts = ["the", "the", "cat"]


# %% right_from_the_end
# RIGHT: one begins behind an end
my_prompts = ["<end>", "sat"]


# %% right_all_words
# RIGHT: all there are
my_prompts = list(words)


# %% wrong_one
# WRONG: the cell's own
my_prompts = ["the"]


# %% wrong_twice_the_same
# WRONG: two rows that end together
my_prompts = ["dog", "dog"]


# %% wrong_as_far_from_the_end
# WRONG: different words, as far from the end
my_prompts = ["cat", "dog"]


# %% wrong_last_words
# WRONG: both end at once
my_prompts = ["sat", "ran"]


# %% wrong_none
# WRONG: no rows
my_prompts = []


# %% wrong_unknown
# WRONG: a word that the model does not know
my_prompts = ["the", "bird"]


# %% wrong_one_text
# WRONG: a text instead of a list of words
my_prompts = "the dog"


# %% wrong_end_alone
# WRONG: the longest way, alone
my_prompts = ["<end>"]


# %% right_tuple
# RIGHT: a tuple
my_prompts = ("ran", "ran", "the")


# %% wrong_nothing
# WRONG: nothing
my_prompts = None


# %% wrong_a_word
# WRONG: one word, not in a list
my_prompts = "dog"


# %% wrong_ids
# WRONG: ids instead of words
my_prompts = [1, 3]


# %% wrong_tensor
# WRONG: a tensor of ids
my_prompts = torch.tensor([1, 3])


# %% wrong_lists
# WRONG: prompts of several words
my_prompts = [["the", "dog"], ["cat"]]


# %% wrong_not_a_number
# WRONG: not a number
my_prompts = [float("nan"), "the"]


# %% wrong_too_many
# WRONG: more rows than the cell takes
my_prompts = ["the", "dog"] * 1000


# %% wrong_other_case
# WRONG: words that the model does not know, in capitals
my_prompts = ["The", "Dog"]
