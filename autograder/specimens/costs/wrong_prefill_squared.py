# exercise: prefill_flops
# WRONG: squared in the tokens
def prefill_flops(n_params, t_prompt):
    return 2 * n_params * t_prompt * t_prompt
