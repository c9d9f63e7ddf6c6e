# exercise: decode_flops
# WRONG: the tokens forgotten
def decode_flops(n_params, t_new):
    return 2 * n_params
