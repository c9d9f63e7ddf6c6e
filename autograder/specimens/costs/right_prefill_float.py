# exercise: prefill_flops
# RIGHT: a float
def prefill_flops(n_params, t_prompt):
    return float(n_params) * t_prompt * 2.0
