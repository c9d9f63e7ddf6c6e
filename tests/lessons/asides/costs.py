# === from_card
# Answers to the challenge of the costs day. How they are judged: tests/lessons/test_asides.py.


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


# === my_bet
# Bets on what 64 users make of the intensity of one, in the table of prefill and decode. How they are judged: tests/lessons/test_asides.py.


# %% right_read_off
# RIGHT: the intensity of 64 users, over nearly 1
my_bet = 28.1


# %% right_rounded
# RIGHT: a whole number near it
my_bet = 29


# %% right_on_paper
# RIGHT: 64 times the work on so many times the bytes, weights of 7 billion
weights, cache = 14e9, 2 * 32 * 32 * 128 * 2 * 512
my_bet = 64 * (weights + cache) / (weights + 64 * cache)


# %% right_from_a_tensor
# RIGHT: a tensor with one number
my_bet = torch.tensor(28.65)


# %% wrong_in_quotes
# WRONG: a text
my_bet = "28.6"


# %% right_a_little_too_high
# RIGHT: within a tenth
my_bet = 31


# %% wrong_as_released
# WRONG: the cell's own, caches forgotten
my_bet = 64.0


# %% wrong_long_texts
# WRONG: what it is with 4,096 tokens behind each
my_bet = 5.7


# %% wrong_half
# WRONG: too much by more than a tenth
my_bet = 32


# %% wrong_too_little
# WRONG: too little by more than a tenth
my_bet = 25


# %% wrong_one
# WRONG: nothing gained
my_bet = 1


# %% wrong_zero
# WRONG: no factor
my_bet = 0


# %% wrong_negative
# WRONG: below 0
my_bet = -28.6


# %% wrong_none
# WRONG: nothing
my_bet = None


# %% wrong_words
# WRONG: a word
my_bet = "about thirty"


# %% wrong_empty
# WRONG: an empty text
my_bet = ""


# %% wrong_nan
# WRONG: not a number
my_bet = math.nan


# %% wrong_infinite
# WRONG: without end
my_bet = math.inf


# %% wrong_huge
# WRONG: too large for a float
my_bet = 10**400


# %% wrong_true
# WRONG: no number of times
my_bet = True


# %% wrong_two_numbers
# WRONG: both questions at once
my_bet = (28.65, 5.8)


# %% wrong_tensor
# WRONG: a tensor with two numbers
my_bet = torch.tensor([28.65, 28.65])


# %% wrong_complex
# WRONG: a complex number
my_bet = 28.65 + 0j


# %% wrong_function
# WRONG: a function, not its result
my_bet = lambda: 28.65


# === my_change
# Inputs for "Find the bug" of the costs day, the rule of two and attention added. How they are judged: tests/lessons/test_asides.py.


# %% right_untied
# RIGHT: the embedding is a table of its own, and no product
my_change = {"tie_word_embeddings": False}


# %% right_untied_and_wide
# RIGHT: with other shapes too
my_change = {"tie_word_embeddings": False, "hidden_size": 2048, "num_attention_heads": 32, "num_key_value_heads": 8}


# %% right_untied_small_vocabulary
# RIGHT: few words, and few layers
my_change = {"vocab_size": 4096, "num_hidden_layers": 2, "tie_word_embeddings": False}


# %% right_norms_alone
# RIGHT: hardly a matrix left: the weights of the last norm count
my_change = {"num_hidden_layers": 0, "vocab_size": 10}


# %% wrong_change_as_it_is
# WRONG: the cell's own
my_change = {"num_hidden_layers": 12, "vocab_size": 1000}


# %% wrong_nothing
# WRONG: nothing is changed
my_change = {}


# %% wrong_more_key_heads
# WRONG: no sharing
my_change = {"num_key_value_heads": 9}


# %% wrong_wider_heads
# WRONG: heads wider than their share
my_change = {"head_dim": 256}


# %% wrong_tied_as_before
# WRONG: tied, as it was
my_change = {"tie_word_embeddings": True}


# %% wrong_untied_but_no_words
# WRONG: a second table, next to nothing in size
my_change = {"tie_word_embeddings": False, "vocab_size": 10}


# %% wrong_heads_that_do_not_share
# WRONG: 9 query heads over 2
my_change = {"num_key_value_heads": 2}


# %% wrong_unknown_name
# WRONG: no name of the configuration
my_change = {"tied": False}


# %% wrong_not_a_dictionary
# WRONG: no change at all
my_change = "tie_word_embeddings"


# %% wrong_nan
# WRONG: no number
my_change = {"hidden_size": math.nan}


# %% wrong_no_context
# WRONG: the text is longer than the model allows
my_change = {"max_position_embeddings": 64}


# %% wrong_neg_layers
# WRONG: there is no such model
my_change = {"num_hidden_layers": -1}


# %% wrong_kv0
# WRONG: there is no such model
my_change = {"num_key_value_heads": 0}


# === my_heads
# Inputs for "Find the bug" of the costs day, D for the width of the keys. How they are judged: tests/lessons/test_asides.py.


# %% right_grouped
# RIGHT: eight key/value heads for 64 query heads
my_heads = (64, 8, 128)


# %% right_one_for_all
# RIGHT: a single key/value head
my_heads = (64, 1, 128)


# %% right_wider_heads
# RIGHT: heads wider than their share of D
my_heads = (64, 64, 256)


# %% right_fewer_heads
# RIGHT: heads that do not fill D
my_heads = (16, 16, 256)


# %% wrong_heads_as_they_are
# WRONG: the cell's own
my_heads = (64, 64, 128)


# %% wrong_other_heads_of_the_same_width
# WRONG: 32 heads of 256 are 8,192 too
my_heads = (32, 32, 256)


# %% wrong_grouped_and_wide
# WRONG: grouped, and as wide as D all the same
my_heads = (64, 32, 256)


# %% wrong_one_wide_head
# WRONG: one head as wide as D
my_heads = (1, 1, 8192)


# %% wrong_more_keys_than_queries
# WRONG: there is no such model
my_heads = (8, 64, 128)


# %% wrong_not_shared_out
# WRONG: 64 query heads over 10
my_heads = (64, 10, 128)


# %% wrong_no_heads
# WRONG: nothing is kept
my_heads = (64, 0, 128)


# %% wrong_no_width
# WRONG: heads without a width
my_heads = (64, 8, 0)


# %% wrong_two
# WRONG: two numbers for three
my_heads = (64, 8)


# === my_tokens
# Answers to "Check what you read" of the costs day, where attention is half of the work. How they are judged: tests/lessons/test_asides.py.


# %% right_literal
# RIGHT: on paper
my_tokens = 28_628


# %% right_from_the_count
# RIGHT: FLOPs of a token's products over those of one score
llama = Config("Llama 3 8B", 128256, 4096, 14336, 32, 32, 8, 128, 5e5, 1e-5, 8192, False, None, None)
per_score = 4 * 32 * 32 * 128
my_tokens = (forward_flops(llama, 1) - per_score) // per_score


# %% right_searched
# RIGHT: halved again and again
llama = Config("Llama 3 8B", 128256, 4096, 14336, 32, 32, 8, 128, 5e5, 1e-5, 8192, False, None, None)
low, my_tokens = 1, 1_000_000
while low < my_tokens - 1:
    middle = (low + my_tokens) // 2
    if 2 * 4 * 32 * 4096 * middle**2 >= forward_flops(llama, middle):
        my_tokens = middle
    else:
        low = middle


# %% wrong_tokens_as_they_are
# WRONG: the cell's own
my_tokens = 4096


# %% wrong_one_too_many
# WRONG: not the smallest
my_tokens = 28_629


# %% wrong_one_too_few
# WRONG: not yet half
my_tokens = 28_627


# %% wrong_by_the_rule
# WRONG: with 2N for the products, the looked-up table among them
my_tokens = 30_633


# %% wrong_scores_only
# WRONG: the sum of values is forgotten
my_tokens = 57_256


# %% wrong_far_too_long
# WRONG: attention is nearly all
my_tokens = 10_000_000


# %% wrong_a_float
# WRONG: no whole number
my_tokens = 28_628.0


# %% wrong_nan
# WRONG: no number
my_tokens = math.nan


# %% wrong_nothing
# WRONG: no tokens
my_tokens = 0
