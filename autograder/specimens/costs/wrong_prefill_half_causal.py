# exercise: prefill_flops
# WRONG: half of the work, for the mask
def prefill_flops(n_params, t_prompt):
    return n_params * (t_prompt + 1)
