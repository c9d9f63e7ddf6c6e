# Versions of decode_flops, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_decode_float
# RIGHT: a float
def decode_flops(n_params, t_new):
    return float(n_params) * t_new * 2.0


# %% right_decode_steps
# RIGHT: one token at a time, in one sum
def decode_flops(n_params, t_new):
    return 2 * sum([n_params] * t_new) if t_new < 10**4 else 2 * n_params * t_new


# %% right_decode_sum
# RIGHT: adds a multiplication and an addition
def decode_flops(n_params, t_new):
    return n_params * t_new + n_params * t_new


# %% wrong_decode_bytes
# WRONG: bytes for FLOPs: four a weight
# SAYS: Four for each weight is its bytes in float32. It takes part in two FLOPs for each token.
def decode_flops(n_params, t_new):
    return 4 * n_params * t_new


# %% wrong_decode_first_token_free
# WRONG: the first new token is not counted, because the prefill gives it
# SAYS: One step is left out. t_new is the number of decode steps here, each over one token.
def decode_flops(n_params, t_new):
    return 2 * n_params * max(t_new - 1, 0)


# %% wrong_decode_no_tokens
# WRONG: the tokens forgotten
def decode_flops(n_params, t_new):
    return 2 * n_params


# %% wrong_decode_one_flop
# WRONG: one FLOP a weight
# SAYS: One FLOP for each weight and token. A weight is multiplied and added: two.
def decode_flops(n_params, t_new):
    return n_params * t_new


# %% wrong_decode_one_less
# WRONG: one token too few
def decode_flops(n_params, t_new):
    return 2 * n_params * (t_new - 1)


# %% wrong_decode_one_step
# WRONG: one step only, twice
# SAYS: The cost does not grow with the steps. Each of the t_new steps costs 2N.
def decode_flops(n_params, t_new):
    return 2 * n_params * min(t_new, 1)


# %% wrong_decode_squared
# WRONG: squared in the tokens
# SAYS: The tokens are squared. By the rule each costs the same.
def decode_flops(n_params, t_new):
    return 2 * n_params * t_new * t_new


# %% wrong_decode_sum_not_product
# WRONG: tokens added instead of multiplied
def decode_flops(n_params, t_new):
    return 2 * (n_params + t_new)


# %% wrong_decode_tera
# WRONG: in TFLOPs
# SAYS: This is in TFLOP. The function gives FLOPs; divide when you print.
def decode_flops(n_params, t_new):
    return 2 * n_params * t_new / 1e12


# %% wrong_decode_training
# WRONG: six FLOPs a weight, which is training
# SAYS: Six FLOPs a weight is the rule for training, backward pass included. A pass forward takes two.
def decode_flops(n_params, t_new):
    return 6 * n_params * t_new


# %% wrong_decode_whole_text
# WRONG: the text so far in every step
def decode_flops(n_params, t_new):
    return 2 * n_params * (t_new * (t_new + 1) // 2)


# %% wrong_decode_kept_by_steps
# WRONG: results are kept by t_new alone: a second model gets the count of the first
# SAYS: This is the count of an earlier call with as many steps. Another model has another number of weights.
decode_flops_of_steps = {}


def decode_flops(n_params, t_new):
    return decode_flops_of_steps.setdefault(t_new, 2 * n_params * t_new)
