# exercise: decode_flops
# RIGHT: adds a multiplication and an addition
def decode_flops(n_params, t_new):
    return n_params * t_new + n_params * t_new
