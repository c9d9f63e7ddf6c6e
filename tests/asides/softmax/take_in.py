# Answers to the challenge of the softmax day. How they are judged: tests/test_asides.py.


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
