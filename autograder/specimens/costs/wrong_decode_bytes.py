# exercise: decode_flops
# WRONG: bytes for FLOPs: four a weight
def decode_flops(n_params, t_new):
    return 4 * n_params * t_new
