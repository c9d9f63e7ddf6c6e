# exercise: prefill_flops
# WRONG: the tokens forgotten
def prefill_flops(n_params, t_prompt):
    return 2 * n_params
