# exercise: decode_flops
# RIGHT: a float
def decode_flops(n_params, t_new):
    return float(n_params) * t_new * 2.0
