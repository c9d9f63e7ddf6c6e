# exercise: prefill_flops
# WRONG: bytes for FLOPs: four a weight
def prefill_flops(n_params, t_prompt):
    return 4 * n_params * t_prompt
