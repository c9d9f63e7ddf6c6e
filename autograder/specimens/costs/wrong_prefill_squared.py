# exercise: prefill_flops
# WRONG: squared in the tokens
# SAYS: The tokens are squared. By the rule each costs the same.
def prefill_flops(n_params, t_prompt):
    return 2 * n_params * t_prompt * t_prompt
