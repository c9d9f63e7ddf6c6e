# exercise: decode_flops
# WRONG: squared in the tokens
def decode_flops(n_params, t_new):
    return 2 * n_params * t_new * t_new
