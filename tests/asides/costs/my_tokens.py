# Answers to "Check what you read" of the costs day, where attention is half of the work. How they are judged: tests/test_asides.py.


# %% right_literal
# RIGHT: on paper
my_tokens = 28_628


# %% right_from_the_count
# RIGHT: FLOPs of a token's products over those of one score
llama = Config("Llama 3 8B", 128256, 4096, 14336, 32, 32, 8, 128, 5e5, 1e-5, 8192, False, None, None)
per_score = 4 * 32 * 32 * 128
my_tokens = (forward_flops(llama, 1) - per_score) // per_score


# %% right_searched
# RIGHT: halved again and again
llama = Config("Llama 3 8B", 128256, 4096, 14336, 32, 32, 8, 128, 5e5, 1e-5, 8192, False, None, None)
low, my_tokens = 1, 1_000_000
while low < my_tokens - 1:
    middle = (low + my_tokens) // 2
    if 2 * 4 * 32 * 4096 * middle**2 >= forward_flops(llama, middle):
        my_tokens = middle
    else:
        low = middle


# %% wrong_tokens_as_they_are
# WRONG: the cell's own
my_tokens = 4096


# %% wrong_one_too_many
# WRONG: not the smallest
my_tokens = 28_629


# %% wrong_one_too_few
# WRONG: not yet half
my_tokens = 28_627


# %% wrong_by_the_rule
# WRONG: with 2N for the products, the looked-up table among them
my_tokens = 30_633


# %% wrong_scores_only
# WRONG: the sum of values is forgotten
my_tokens = 57_256


# %% wrong_far_too_long
# WRONG: attention is nearly all
my_tokens = 10_000_000


# %% wrong_a_float
# WRONG: no whole number
my_tokens = 28_628.0


# %% wrong_nan
# WRONG: no number
my_tokens = math.nan


# %% wrong_nothing
# WRONG: no tokens
my_tokens = 0
