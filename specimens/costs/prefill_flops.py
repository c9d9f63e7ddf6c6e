# Versions of prefill_flops, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_prefill_float
# RIGHT: a float
def prefill_flops(n_params, t_prompt):
    return float(n_params) * t_prompt * 2.0


# %% right_prefill_steps
# RIGHT: one token at a time, in one sum
def prefill_flops(n_params, t_prompt):
    return 2 * sum([n_params] * t_prompt) if t_prompt < 10**4 else 2 * n_params * t_prompt


# %% right_prefill_sum
# RIGHT: adds a multiplication and an addition
def prefill_flops(n_params, t_prompt):
    return n_params * t_prompt + n_params * t_prompt


# %% wrong_prefill_at_least_one
# WRONG: a prompt without a token counted as one token
def prefill_flops(n_params, t_prompt):
    return 2 * n_params * max(t_prompt, 1)


# %% wrong_prefill_bytes
# WRONG: bytes for FLOPs: four a weight
# SAYS: Four for each weight is its bytes in float32. It takes part in two FLOPs for each token.
def prefill_flops(n_params, t_prompt):
    return 4 * n_params * t_prompt


# %% wrong_prefill_half_causal
# WRONG: half of the work, for the mask
# SAYS: Half of the work is left out for the mask. The rule counts every token in full.
def prefill_flops(n_params, t_prompt):
    return n_params * (t_prompt + 1)


# %% wrong_prefill_no_tokens
# WRONG: the tokens forgotten
def prefill_flops(n_params, t_prompt):
    return 2 * n_params


# %% wrong_prefill_one_flop
# WRONG: one FLOP a weight
# SAYS: One FLOP for each weight and token. A weight is multiplied and added: two.
def prefill_flops(n_params, t_prompt):
    return n_params * t_prompt


# %% wrong_prefill_one_less
# WRONG: one token too few
def prefill_flops(n_params, t_prompt):
    return 2 * n_params * (t_prompt - 1)


# %% wrong_prefill_one_too_many
# WRONG: one token too many
def prefill_flops(n_params, t_prompt):
    return 2 * n_params * (t_prompt + 1)


# %% wrong_prefill_squared
# WRONG: squared in the tokens
# SAYS: The tokens are squared. By the rule each costs the same.
def prefill_flops(n_params, t_prompt):
    return 2 * n_params * t_prompt * t_prompt


# %% wrong_prefill_sum_not_product
# WRONG: tokens added instead of multiplied
def prefill_flops(n_params, t_prompt):
    return 2 * (n_params + t_prompt)


# %% wrong_prefill_tera
# WRONG: in TFLOPs
# SAYS: This is in TFLOP. The function gives FLOPs; divide when you print.
def prefill_flops(n_params, t_prompt):
    return 2 * n_params * t_prompt / 1e12


# %% wrong_prefill_training
# WRONG: six FLOPs a weight, which is training
# SAYS: Six FLOPs a weight is the rule for training, backward pass included. A pass forward takes two.
def prefill_flops(n_params, t_prompt):
    return 6 * n_params * t_prompt
