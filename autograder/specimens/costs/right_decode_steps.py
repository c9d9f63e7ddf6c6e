# exercise: decode_flops
# RIGHT: one token at a time, in one sum
def decode_flops(n_params, t_new):
    return 2 * sum([n_params] * t_new) if t_new < 10**4 else 2 * n_params * t_new
