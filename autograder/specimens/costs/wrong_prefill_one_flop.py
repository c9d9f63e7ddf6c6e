# exercise: prefill_flops
# WRONG: one FLOP a weight
def prefill_flops(n_params, t_prompt):
    return n_params * t_prompt
