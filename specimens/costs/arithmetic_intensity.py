# Versions of arithmetic_intensity, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_intensity_float
# RIGHT: floats first
def arithmetic_intensity(flops, num_bytes):
    return float(flops) / float(num_bytes)


# %% right_intensity_numpy
# RIGHT: numpy
def arithmetic_intensity(flops, num_bytes):
    return __import__('numpy').true_divide(flops, num_bytes).item()


# %% right_intensity_power
# RIGHT: a power of minus one
def arithmetic_intensity(flops, num_bytes):
    return flops * num_bytes**-1.0


# %% wrong_arithmetic_intensity_int_args
# WRONG: arguments cut to integers
# SAYS: The arguments are cut to whole numbers first: 1.5 becomes 1.
def arithmetic_intensity(flops, num_bytes):
    return int(flops) / int(num_bytes)


# %% wrong_intensity_at_least_one_flop
# WRONG: work without a FLOP counted as one FLOP
def arithmetic_intensity(flops, num_bytes):
    return max(flops, 1) / num_bytes


# %% wrong_intensity_at_most_a_thousand
# WRONG: never more than 1,000
def arithmetic_intensity(flops, num_bytes):
    return min(flops / num_bytes, 1000.0)


# %% wrong_intensity_bits
# WRONG: FLOPs a bit
# SAYS: These are FLOPs for each bit. Divide by bytes.
def arithmetic_intensity(flops, num_bytes):
    return flops / (8 * num_bytes)


# %% wrong_intensity_capped
# WRONG: never below one
# SAYS: The intensity is never below 1 here. Work with less than a FLOP a byte has one below 1.
def arithmetic_intensity(flops, num_bytes):
    return max(1.0, flops / num_bytes)


# %% wrong_intensity_difference
# WRONG: a difference
# SAYS: This is a difference of FLOPs and bytes. Intensity is their quotient.
def arithmetic_intensity(flops, num_bytes):
    return flops - num_bytes


# %% wrong_intensity_gb
# WRONG: FLOPs a GB
# SAYS: These are FLOPs for each GB. Divide by bytes as they are.
def arithmetic_intensity(flops, num_bytes):
    return flops / (num_bytes / 1e9)


# %% wrong_intensity_half
# WRONG: multiply-adds a byte
# SAYS: These are multiply-adds for each byte. flops are FLOPs already: do not halve them.
def arithmetic_intensity(flops, num_bytes):
    return flops / 2 / num_bytes


# %% wrong_intensity_inverted
# WRONG: bytes a FLOP
# SAYS: These are bytes per FLOP: invert the fraction.
def arithmetic_intensity(flops, num_bytes):
    return num_bytes / flops


# %% wrong_intensity_product
# WRONG: a product
# SAYS: This is a product of FLOPs and bytes. Intensity is their quotient.
def arithmetic_intensity(flops, num_bytes):
    return flops * num_bytes


# %% wrong_intensity_whole
# WRONG: whole division
# SAYS: The division is a whole one (//), which drops what is after the point.
def arithmetic_intensity(flops, num_bytes):
    return flops // num_bytes
