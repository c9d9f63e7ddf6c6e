# exercise: prefill_flops
# WRONG: six FLOPs a weight, which is training
def prefill_flops(n_params, t_prompt):
    return 6 * n_params * t_prompt
