# exercise: decode_flops
# WRONG: six FLOPs a weight, which is training
def decode_flops(n_params, t_new):
    return 6 * n_params * t_new
