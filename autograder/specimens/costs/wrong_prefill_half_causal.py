# exercise: prefill_flops
# WRONG: half of the work, for the mask
# SAYS: Half of the work is left out for the mask. The rule counts every token in full.
def prefill_flops(n_params, t_prompt):
    return n_params * (t_prompt + 1)
