# Versions of weight_bytes, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_weights_bits
# RIGHT: through bits
def weight_bytes(n_params, bytes_per_value):
    return n_params * (bytes_per_value * 8) / 8


# %% right_weights_sum
# RIGHT: float first
def weight_bytes(n_params, bytes_per_value):
    return float(n_params) * bytes_per_value


# %% right_weights_swapped
# RIGHT: factors exchanged
def weight_bytes(n_params, bytes_per_value):
    return bytes_per_value * n_params


# %% wrong_weights_always_four
# WRONG: four bytes whatever was said
# SAYS: Four bytes a value, whatever bytes_per_value says.
def weight_bytes(n_params, bytes_per_value):
    return n_params * 4


# %% wrong_weights_always_two
# WRONG: two bytes whatever was said
# SAYS: Two bytes a value, whatever bytes_per_value says.
def weight_bytes(n_params, bytes_per_value):
    return n_params * 2


# %% wrong_weights_binary
# WRONG: each 1000 made 1024
# SAYS: Each factor of 1,000 is made 1,024. A weight has bytes_per_value bytes, no more.
def weight_bytes(n_params, bytes_per_value):
    return n_params * bytes_per_value * 1.024**3


# %% wrong_weights_bits
# WRONG: bits for bytes
# SAYS: These are bits. A byte has eight of them.
def weight_bytes(n_params, bytes_per_value):
    return n_params * bytes_per_value * 8


# %% wrong_weights_divided
# WRONG: divided
# SAYS: The weights are divided by the bytes of a value. Multiply.
def weight_bytes(n_params, bytes_per_value):
    return n_params / bytes_per_value


# %% wrong_weights_gb
# WRONG: GB
# SAYS: This is in GB. The function gives bytes; divide when you print.
def weight_bytes(n_params, bytes_per_value):
    return n_params * bytes_per_value / 1e9


# %% wrong_weights_gib
# WRONG: GiB
# SAYS: This is in GiB. The function gives bytes; divide when you print.
def weight_bytes(n_params, bytes_per_value):
    return n_params * bytes_per_value / 2**30


# %% wrong_weights_rounded_up
# WRONG: half a byte rounded up
# SAYS: bytes_per_value may be 0.5: it is rounded up here.
def weight_bytes(n_params, bytes_per_value):
    return n_params * max(1, bytes_per_value)


# %% wrong_weights_whole_bits
# WRONG: the bits of a value are rounded to a whole number
# SAYS: bytes_per_value need not be a whole number of bits: it is rounded to one here.
def weight_bytes(n_params, bytes_per_value):
    return n_params * round(8 * bytes_per_value) / 8


# %% wrong_weights_whole_bytes
# WRONG: half a byte rounded down
# SAYS: bytes_per_value may be 0.5: it is rounded down here.
def weight_bytes(n_params, bytes_per_value):
    return n_params * int(bytes_per_value)
