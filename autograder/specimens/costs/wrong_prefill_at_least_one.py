# exercise: prefill_flops
# WRONG: a prompt without a token counted as one token
def prefill_flops(n_params, t_prompt):
    return 2 * n_params * max(t_prompt, 1)
