# exercise: prefill_flops
# WRONG: in TFLOPs
# SAYS: This is in TFLOP. The function gives FLOPs; divide when you print.
def prefill_flops(n_params, t_prompt):
    return 2 * n_params * t_prompt / 1e12
