# exercise: prefill_flops
# WRONG: one token too many
def prefill_flops(n_params, t_prompt):
    return 2 * n_params * (t_prompt + 1)
