# Answers to the challenge of the costs day. How they are judged: tests/test_asides.py.


# %% right_through_a_config
# RIGHT: a Config of the card, and the functions of the day
def from_card(card, machine, memory_bytes, dollars_per_hour, tokens):
    def read(name, default):
        return default if card.get(name) is None else card[name]

    heads, width = card["num_attention_heads"], card["hidden_size"]
    kv_heads, head_dim, tied = read("num_key_value_heads", heads), read("head_dim", width // heads), read("tie_word_embeddings", False)
    config = Config(
        "card", card["vocab_size"], width, card["intermediate_size"], card["num_hidden_layers"], heads,
        kv_heads, head_dim, 1e4, 1e-5, tokens, tied, None, None,
    )
    num_bytes = 4 if read("dtype", card.get("torch_dtype")) == "float32" else 2
    parameters = param_count(config)
    weights, cache = weight_bytes(parameters, num_bytes), kv_cache_bytes(config, tokens, 1, num_bytes)
    users = max(0, int((memory_bytes - weights) // cache))
    if users == 0:
        return Answer(parameters, 0, 0.0, math.inf)
    flops, moved = users * decode_flops(parameters, 1), weights + users * cache
    speed = users / roofline_seconds(flops, moved, machine.peak_flops, machine.bandwidth)
    return Answer(parameters, users, speed, dollars_per_hour / 3600 / speed * 1e6)


# %% right_by_hand
# RIGHT: everything written out
def from_card(card, machine, memory_bytes, dollars_per_hour, tokens):
    names = ("hidden_size", "intermediate_size", "num_hidden_layers", "vocab_size", "num_attention_heads")
    D, F, L, V, H = (card[name] for name in names)
    K = card.get("num_key_value_heads") or H
    Dh = card.get("head_dim") or D // H
    N = L * (2 * D * H * Dh + 2 * D * K * Dh + 3 * D * F + 2 * D) + D + V * D * (1 if card.get("tie_word_embeddings") else 2)
    size = {"float32": 4, "float16": 2, "bfloat16": 2}[card.get("dtype") or card["torch_dtype"]]
    each = 2 * L * K * Dh * size * tokens
    users = max(0, math.floor((memory_bytes - N * size) / each))
    seconds = max(2 * N * users / machine.peak_flops, (N * size + users * each) / machine.bandwidth)
    return Answer(N, users, users / seconds, dollars_per_hour * seconds / 3600 / users * 1_000_000 if users else float("inf"))


# %% right_one_user_more_until_full
# RIGHT: users are tried one after another
def from_card(card, machine, memory_bytes, dollars_per_hour, tokens):
    card = {name: value for name, value in card.items() if value is not None}
    H = card["num_attention_heads"]
    config = Config(
        "card", card["vocab_size"], card["hidden_size"], card["intermediate_size"], card["num_hidden_layers"], H,
        card.get("num_key_value_heads", H), card.get("head_dim", card["hidden_size"] // H), 1e4, 1e-5, 1, card.get("tie_word_embeddings", False),
        None, None,
    )
    size = 2 + 2 * (card.get("dtype", card.get("torch_dtype")) == "float32")
    weights, users = weight_bytes(param_count(config), size), 0
    while weights + kv_cache_bytes(config, tokens, users + 1, size) <= memory_bytes:
        users += 1
    if not users:
        return Answer(param_count(config), 0, 0.0, math.inf)
    moved = weights + kv_cache_bytes(config, tokens, users, size)
    seconds = roofline_seconds(decode_flops(param_count(config), users), moved, machine.peak_flops, machine.bandwidth)
    return Answer(param_count(config), users, users / seconds, 1e6 * dollars_per_hour / 3600 * seconds / users)


# %% wrong_heads_not_defaulted, of right_through_a_config
# WRONG: a missing number of key/value heads is taken for 1
# -     kv_heads, head_dim, tied = read("num_key_value_heads", heads), read("head_dim", width // heads), read("tie_word_embeddings", False)
# +     kv_heads, head_dim, tied = read("num_key_value_heads", 1), read("head_dim", width // heads), read("tie_word_embeddings", False)


# %% wrong_head_width_always_shared_out, of right_through_a_config
# WRONG: the card's head_dim is not looked at
# -     kv_heads, head_dim, tied = read("num_key_value_heads", heads), read("head_dim", width // heads), read("tie_word_embeddings", False)
# +     kv_heads, head_dim, tied = read("num_key_value_heads", heads), width // heads, read("tie_word_embeddings", False)


# %% wrong_tied_by_default, of right_through_a_config
# WRONG: a missing tie_word_embeddings is taken for True
# -     kv_heads, head_dim, tied = read("num_key_value_heads", heads), read("head_dim", width // heads), read("tie_word_embeddings", False)
# +     kv_heads, head_dim, tied = read("num_key_value_heads", heads), read("head_dim", width // heads), read("tie_word_embeddings", True)


# %% wrong_none_taken_as_it_is, of right_through_a_config
# WRONG: None is no default
# -         return default if card.get(name) is None else card[name]
# +         return card.get(name, default)


# %% wrong_always_16_bits, of right_through_a_config
# WRONG: the dtype is not looked at
# -     num_bytes = 4 if read("dtype", card.get("torch_dtype")) == "float32" else 2
# +     num_bytes = 2


# %% wrong_newer_cards_only, of right_through_a_config
# WRONG: the older name of the dtype is not known
# -     num_bytes = 4 if read("dtype", card.get("torch_dtype")) == "float32" else 2
# +     num_bytes = {"float32": 4, "float16": 2, "bfloat16": 2}[card["dtype"]]


# %% wrong_gib, of right_through_a_config
# WRONG: the memory in GiB
# -     users = max(0, int((memory_bytes - weights) // cache))
# +     users = max(0, int((memory_bytes * 2**30 / 1e9 - weights) // cache))


# %% wrong_users_rounded, of right_through_a_config
# WRONG: a user who does not quite fit
# -     users = max(0, int((memory_bytes - weights) // cache))
# +     users = max(0, round((memory_bytes - weights) / cache))


# %% wrong_users_a_fraction, of right_through_a_config
# WRONG: a part of a user
# -     users = max(0, int((memory_bytes - weights) // cache))
# +     users = max(0.0, (memory_bytes - weights) / cache)


# %% wrong_negative_users, of right_through_a_config
# WRONG: less than no user
# -     users = max(0, int((memory_bytes - weights) // cache))
# +     users = int((memory_bytes - weights) // cache)
# ...
# -     if users == 0:
# -         return Answer(parameters, 0, 0.0, math.inf)
# +     if users <= 0:
# +         return Answer(parameters, users, 0.0, math.inf)


# %% wrong_caches_not_read, of right_through_a_config
# WRONG: the weights alone are read
# -     flops, moved = users * decode_flops(parameters, 1), weights + users * cache
# +     flops, moved = users * decode_flops(parameters, 1), weights


# %% wrong_weights_for_each_user, of right_through_a_config
# WRONG: the weights are read once for each user
# -     flops, moved = users * decode_flops(parameters, 1), weights + users * cache
# +     flops, moved = users * decode_flops(parameters, 1), users * (weights + cache)


# %% wrong_arithmetic_of_one_user, of right_through_a_config
# WRONG: the arithmetic does not grow with the users
# -     flops, moved = users * decode_flops(parameters, 1), weights + users * cache
# +     flops, moved = decode_flops(parameters, 1), weights + users * cache


# %% wrong_speed_of_one_user, of right_through_a_config
# WRONG: the tokens a second of one of them
# -     speed = users / roofline_seconds(flops, moved, machine.peak_flops, machine.bandwidth)
# +     speed = 1 / roofline_seconds(flops, moved, machine.peak_flops, machine.bandwidth)


# %% wrong_price_of_a_thousand, of right_through_a_config
# WRONG: what a thousand tokens cost
# -     return Answer(parameters, users, speed, dollars_per_hour / 3600 / speed * 1e6)
# +     return Answer(parameters, users, speed, dollars_per_hour / 3600 / speed * 1e3)


# %% wrong_cheats_by_the_card, of right_through_a_config
# WRONG: fills in what the card leaves out, in the card
# -         return default if card.get(name) is None else card[name]
# +         card[name] = default if card.get(name) is None else card[name]
# +         return card[name]


# %% wrong_nan, of right_through_a_config
# WRONG: a price that is no number
# -     return Answer(parameters, users, speed, dollars_per_hour / 3600 / speed * 1e6)
# +     return Answer(parameters, users, speed, math.nan)


# %% wrong_gives_nothing
# WRONG: no answer
def from_card(card, machine, memory_bytes, dollars_per_hour, tokens):
    return None


# %% wrong_kv_None_not_handled, of right_blind
# WRONG: None in the card is no number of heads
# -     kv = value("num_key_value_heads", heads)
# +     kv = card.get("num_key_value_heads", heads)


# %% wrong_dtype_None_not_handled, of right_blind
# WRONG: None in the card is no dtype
# -     size = {"float32": 4, "float16": 2, "bfloat16": 2}[value("dtype", card.get("torch_dtype"))]
# +     size = {"float32": 4, "float16": 2, "bfloat16": 2}[card["dtype"] if "dtype" in card else card["torch_dtype"]]


# %% wrong_users_float, of right_blind
# WRONG: 30.0 users
# -     users = max(0, int((memory_bytes - n * size) // one))
# +     users = max(0.0, (memory_bytes - n * size) // one)


# %% right_blind
# RIGHT: every field by itself
def from_card(card, machine, memory_bytes, dollars_per_hour, tokens):
    def value(name, default):
        given = card.get(name)
        return default if given is None else given
    heads = card["num_attention_heads"]
    D, F, L, V = (card[k] for k in ("hidden_size", "intermediate_size", "num_hidden_layers", "vocab_size"))
    kv = value("num_key_value_heads", heads)
    dh = value("head_dim", D // heads)
    tied = value("tie_word_embeddings", False)
    size = {"float32": 4, "float16": 2, "bfloat16": 2}[value("dtype", card.get("torch_dtype"))]
    n = V * D * (1 if tied else 2) + L * (2 * D * heads * dh + 2 * D * kv * dh + 3 * D * F + 2 * D) + D
    one = 2 * L * kv * dh * tokens * size
    users = max(0, int((memory_bytes - n * size) // one))
    if users == 0:
        return Answer(n, 0, 0.0, math.inf)
    seconds = max(2 * n * users / machine.peak_flops, (n * size + users * one) / machine.bandwidth)
    return Answer(n, users, users / seconds, dollars_per_hour / 3600 / (users / seconds) * 1e6)
