# exercise: decode_flops
# WRONG: in TFLOPs
def decode_flops(n_params, t_new):
    return 2 * n_params * t_new / 1e12
