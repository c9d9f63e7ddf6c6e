# === my_probs
# Inputs for "Find the bug" of the softmax day, something tiny inside the logarithm. How they are judged: tests/lessons/test_asides.py.


# %% right_whole_vocabulary
# RIGHT: SmolLM2's vocabulary, all alike
my_probs = torch.full((49_152,), 1 / 49_152)


# %% right_more_tokens_in_float64
# RIGHT: ten times as many, in float64
my_probs = torch.full((500_000,), 1 / 500_000, dtype=torch.float64)


# %% right_half_sure
# RIGHT: one token has half, the rest is a long tail
my_probs = torch.cat([torch.tensor([0.5]), torch.full((40_000,), 0.5 / 40_000)])


# %% right_random_logits
# RIGHT: the softmax of small random logits over a vocabulary
my_probs = torch.softmax(torch.randn(49_152, generator=torch.Generator().manual_seed(0)), dim=-1)


# %% wrong_as_it_is
# WRONG: the cell's own
my_probs = torch.tensor([0.5, 0.5, 0.0])


# %% wrong_certain
# WRONG: below 0, but by a millionth only
my_probs = torch.tensor([1.0, 0.0, 0.0])


# %% wrong_many_zeros
# WRONG: a whole vocabulary of which one token has everything
my_probs = torch.nn.functional.one_hot(torch.tensor(3), 49_152).float()


# %% wrong_a_thousand
# WRONG: too few tokens
my_probs = torch.full((1_000,), 1 / 1_000)


# %% wrong_tiny_ones
# WRONG: a few very small probabilities
my_probs = torch.tensor([1 - 3e-6, 1e-6, 1e-6, 1e-6])


# %% wrong_not_a_distribution
# WRONG: a hundred thousand tokens that sum to 100
my_probs = torch.full((100_000,), 1e-3)


# %% wrong_negative
# WRONG: a negative probability
my_probs = torch.tensor([1.5, -0.5])


# %% wrong_two_rows
# WRONG: two rows where one was asked
my_probs = torch.full((2, 49_152), 1 / 49_152)


# %% wrong_logits
# WRONG: logits in place of probabilities
my_probs = torch.tensor([8.7, 6.2, 5.9])


# %% wrong_nan
# WRONG: nothing that sums to 1
my_probs = torch.tensor([0.5, 0.5, float("nan")])


# %% wrong_nan0
# WRONG: 0/0 in every place
my_probs = torch.zeros(3) / torch.zeros(3)


# === my_rows
# Inputs for "Find the bug" of the softmax day, one maximum for all rows. How they are judged: tests/lessons/test_asides.py.


# %% right_two_thousand_apart
# RIGHT: the rows of the picture
my_rows = [[1000.0, 1001.0], [-1000.0, -999.0]]


# %% right_second_row_above
# RIGHT: the first row is the lost one
my_rows = [[0.0, 1.0, 2.0], [150.0, 151.0, 152.0]]


# %% right_digits_lost
# RIGHT: the lower row is not lost yet, but has few digits left
my_rows = [[0.0, -0.5], [-102.0, -102.5]]


# %% right_one_large_entry
# RIGHT: a single large logit in the other row is enough
my_rows = [[0.0, 0.0, 400.0], [1.0, 2.0, 3.0]]


# %% wrong_rows_as_they_are
# WRONG: the cell's own rows
my_rows = [[2.0, -1.5, 0.3], [12.0, 8.5, 10.3]]


# %% wrong_both_large
# WRONG: large, but both rows alike
my_rows = [[1000.0, 1001.0], [1001.0, 1000.0]]


# %% wrong_both_small
# WRONG: both far below 0, and at the same height
my_rows = [[-1000.0, -999.0], [-1001.0, -1000.0]]


# %% wrong_wide_inside_a_row
# WRONG: gaps of thousands inside each row: what rounds to 0 is 0 in both versions
my_rows = [[0.0, 5000.0], [5000.0, 0.0]]


# %% wrong_fifty_apart
# WRONG: not far enough apart
my_rows = [[0.0, 1.0], [50.0, 51.0]]


# %% wrong_one_row
# WRONG: one row has one maximum
my_rows = [[1000.0, -1000.0]]


# %% wrong_not_a_number
# WRONG: nan goes in, so nan comes out of any version
my_rows = [[float("nan"), 1.0], [0.0, 1.0]]


# %% wrong_nothing_allowed
# WRONG: a row of nothing but -inf is no distribution in any version
my_rows = [[0.0, 1.0], [float("-inf"), float("-inf")]]


# === my_scores
# Answers to "Check what you read" of the softmax day. How they are judged: tests/lessons/test_asides.py.


# %% right_gaps_of_a_hundredth
# RIGHT: the gaps nearly gone
my_scores = [0.06, 0.05, 0.04, 0.03, 0.02, 0.01, 0.0]


# %% right_divided_by_a_hundred
# RIGHT: the lesson's scores, divided by a hundred
my_scores = [x / 100 for x in [8.7, 6.2, 5.9, 5.1, 4.3, 4.1, 3.8]]


# %% right_far_below_zero
# RIGHT: negative scores, and where they lie does not matter
my_scores = [-20.0, -20.01, -20.02, -20.03, -20.04, -20.05, -20.06]


# %% wrong_scores_as_they_are
# WRONG: the lesson's own scores
my_scores = [8.7, 6.2, 5.9, 5.1, 4.3, 4.1, 3.8]


# %% wrong_all_equal
# WRONG: seven equal scores have no order
my_scores = [1.0] * 7


# %% wrong_turned_round
# WRONG: mat is last
my_scores = [3.8, 4.1, 4.3, 5.1, 5.9, 6.2, 8.7]


# %% wrong_more_words
# WRONG: fewer shares for mat because there are more words
my_scores = [9.0, 8.9, 8.8, 8.7, 8.6, 8.5, 8.4, 8.3, 8.2, 8.1]


# %% wrong_all_moved
# WRONG: all moved by the same amount
my_scores = [x - 8 for x in [8.7, 6.2, 5.9, 5.1, 4.3, 4.1, 3.8]]


# %% wrong_steps_of_one
# WRONG: the same order, and the gaps still large
my_scores = [7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0]


# %% wrong_two_swapped
# WRONG: nearly equal, with two words in the other order
my_scores = [0.06, 0.04, 0.05, 0.03, 0.02, 0.01, 0.0]


# %% right_a_hundred_more
# RIGHT: added to every score, 100 changes nothing, and float64 holds it
my_scores = [100.06, 100.05, 100.04, 100.03, 100.02, 100.01, 100.0]


# %% wrong_too_large
# WRONG: the formula as written gives nan, which is no share
my_scores = [1000.06, 1000.05, 1000.04, 1000.03, 1000.02, 1000.01, 1000.0]


# === take_in
# Answers to the challenge of the softmax day. How they are judged: tests/lessons/test_asides.py.


# %% right_two_cases
# RIGHT: the two cases apart
def take_in(largest, total, score):
    if score == -math.inf:
        return largest, total
    if score <= largest:
        return largest, total + math.exp(score - largest)
    return score, total * math.exp(largest - score) + 1.0


# %% right_both_brought_under_the_new
# RIGHT: past and new are both brought under the new maximum
def take_in(largest, total, score):
    top = max(largest, score)
    if top == -math.inf:
        return top, 0.0
    return top, total * math.exp(largest - top) + math.exp(score - top)


# %% right_tensors_inside
# RIGHT: float64 tensors inside
def take_in(largest, total, score):
    x = torch.tensor([largest, score], dtype=torch.float64)
    top = x.max()
    weights = torch.exp(x - top) if top > -math.inf else torch.zeros(2, dtype=torch.float64)
    return float(top), float(total * weights[0] + weights[1])


# %% right_through_the_logarithm
# RIGHT: through the logarithm of the sum
def take_in(largest, total, score):
    if score == -math.inf:
        return largest, total
    before = largest + math.log(total) if total else -math.inf
    top = max(largest, score)
    return top, math.exp(before - top) + math.exp(score - top)


# %% wrong_past_does_not_fade
# WRONG: the sum is kept as it was when a larger score comes
def take_in(largest, total, score):
    if score == -math.inf:
        return largest, total
    top = max(largest, score)
    return top, total + math.exp(score - top)


# %% wrong_factor_turned_round
# WRONG: the past grows where it should fade
def take_in(largest, total, score):
    if score == -math.inf:
        return largest, total
    if score <= largest:
        return largest, total + math.exp(score - largest)
    return score, (total * math.exp(score - largest) if total else 0.0) + 1.0


# %% wrong_past_is_dropped
# WRONG: a new largest score begins anew
def take_in(largest, total, score):
    if score == -math.inf:
        return largest, total
    return (score, 1.0) if score > largest else (largest, total + math.exp(score - largest))


# %% wrong_first_maximum_for_ever
# WRONG: everything is taken under the first score
def take_in(largest, total, score):
    if largest == -math.inf:
        return score, 0.0 if score == -math.inf else 1.0
    return largest, total + math.exp(score - largest)


# %% wrong_nan_for_minus_infinity
# WRONG: -inf less -inf, before any number has come
def take_in(largest, total, score):
    top = max(largest, score)
    return top, total * math.exp(largest - top) + math.exp(score - top)


# %% wrong_under_zero
# WRONG: exponentials of the scores themselves, which overflow
def take_in(largest, total, score):
    top = max(largest, score)
    return top, ((total * math.exp(largest) if total else 0.0) + math.exp(score)) / math.exp(top)


# %% wrong_equal_counted_once
# WRONG: a score that equals the largest adds nothing
def take_in(largest, total, score):
    if score == -math.inf or score == largest:
        return largest, total
    top = max(largest, score)
    return top, (total * math.exp(largest - top) if total else 0.0) + math.exp(score - top)


# %% wrong_minus_infinity_counts
# WRONG: a forbidden score adds one before any number has come
def take_in(largest, total, score):
    if score > largest:
        return score, (total * math.exp(largest - score) if total else 0.0) + 1.0
    return largest, total + (1.0 if score == largest else math.exp(score - largest))


# %% wrong_single_precision
# WRONG: float32 inside loses the sum's digits
def take_in(largest, total, score):
    x = torch.tensor([largest, score], dtype=torch.float32)
    top = x.max()
    weights = torch.exp(x - top) if top > -math.inf else torch.zeros(2)
    return max(largest, score), float(total * weights[0] + weights[1])


# %% wrong_keeps_all
# WRONG: all scores are kept, and not two numbers
def take_in(largest, total, score, seen=[]):
    if total == 0: seen.clear()
    seen.append(score)
    top = max(seen)
    return top, math.fsum(math.exp(x - top) for x in seen if x > -math.inf)


# %% wrong_neginf_big
# WRONG: what is very small is taken for minus infinity
def take_in(largest, total, score):
    if score < -1e4: return largest, total
    top = max(largest, score)
    return top, (total * math.exp(largest - top) if total else 0.0) + math.exp(score - top)
