# exercise: decode_flops
# WRONG: in TFLOPs
# SAYS: This is in TFLOP. The function gives FLOPs; divide when you print.
def decode_flops(n_params, t_new):
    return 2 * n_params * t_new / 1e12
