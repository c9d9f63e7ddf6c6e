# exercise: decode_flops
# WRONG: the text so far in every step
def decode_flops(n_params, t_new):
    return 2 * n_params * (t_new * (t_new + 1) // 2)
