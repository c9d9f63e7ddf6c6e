# exercise: prefill_flops
# RIGHT: adds a multiplication and an addition
def prefill_flops(n_params, t_prompt):
    return n_params * t_prompt + n_params * t_prompt
