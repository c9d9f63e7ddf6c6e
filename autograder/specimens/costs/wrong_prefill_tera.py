# exercise: prefill_flops
# WRONG: in TFLOPs
def prefill_flops(n_params, t_prompt):
    return 2 * n_params * t_prompt / 1e12
