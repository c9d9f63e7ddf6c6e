# exercise: decode_flops
# WRONG: squared in the tokens
# SAYS: The tokens are squared. By the rule each costs the same.
def decode_flops(n_params, t_new):
    return 2 * n_params * t_new * t_new
