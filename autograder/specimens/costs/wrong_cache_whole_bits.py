# exercise: kv_cache_bytes
# WRONG: the bits of a value are rounded to a whole number
# SAYS: bytes_per_value may be 0.5625, which is 4.5 bits: it is rounded to whole bits here.
def kv_cache_bytes(config, tokens, batch, bytes_per_value):
    bits = round(8 * bytes_per_value)
    return 2 * config.num_hidden_layers * config.num_key_value_heads * config.head_dim * tokens * batch * bits / 8
