# exercise: weight_bytes
# WRONG: bits for bytes
# SAYS: These are bits. A byte has eight of them.
def weight_bytes(n_params, bytes_per_value):
    return n_params * bytes_per_value * 8
