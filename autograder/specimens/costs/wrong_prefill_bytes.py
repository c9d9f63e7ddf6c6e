# exercise: prefill_flops
# WRONG: bytes for FLOPs: four a weight
# SAYS: Four for each weight is its bytes in float32. It takes part in two FLOPs for each token.
def prefill_flops(n_params, t_prompt):
    return 4 * n_params * t_prompt
