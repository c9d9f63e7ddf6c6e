# === RingCache
# Answers to the challenge of the KV cache day. How they are judged: tests/lessons/test_asides.py.


# %% right_slots_by_remainder
# RIGHT: position p lies in slot p % window
class RingCache:
    def __init__(self, config, batch, window, dtype=torch.float32):
        shape = (config.num_hidden_layers, batch, config.num_key_value_heads, window, config.head_dim)
        self.keys, self.values = torch.zeros(shape, dtype=dtype), torch.zeros(shape, dtype=dtype)
        self.window, self.counts = window, [0] * config.num_hidden_layers

    def append(self, layer, k, v):
        start, w, keys, values = self.counts[layer], self.window, self.keys[layer], self.values[layer]
        end = self.counts[layer] = start + k.shape[2]
        if k.shape[2] == 1:
            keys[:, :, start % w], values[:, :, start % w] = k[:, :, 0], v[:, :, 0]
            filled = min(end, w)
            return keys[:, :, :filled], values[:, :, :filled], start - (start - torch.arange(filled)) % w
        old = torch.arange(max(0, start - w), start)
        new = torch.arange(max(start, end - w), end)
        given = torch.cat((keys[:, :, old % w], k), dim=2), torch.cat((values[:, :, old % w], v), dim=2)
        keys[:, :, new % w], values[:, :, new % w] = k[:, :, new - start], v[:, :, new - start]
        return *given, torch.arange(end - given[0].shape[2], end)


# %% right_positions_in_the_slots
# RIGHT: each slot knows its position; an empty one stands far ahead, where no mask lets a token look
class RingCache:
    def __init__(self, config, batch, window, dtype=torch.float32):
        shape = (2, batch, config.num_key_value_heads, window, config.head_dim)
        self.layers = [torch.zeros(shape, dtype=dtype) for _ in range(config.num_hidden_layers)]
        self.at = [torch.full((window,), 10**9) for _ in range(config.num_hidden_layers)]
        self.next = [0] * config.num_hidden_layers

    def append(self, layer, k, v):
        memory, at, t = self.layers[layer], self.at[layer], k.shape[2]
        window, both = len(at), torch.stack((k, v))
        new = torch.arange(self.next[layer], self.next[layer] + t)
        self.next[layer] += t
        if t == 1:
            memory[:, :, :, new % window] = both
            at[new % window] = new
            return memory[0], memory[1], at
        everything, where = torch.cat((memory, both), dim=3), torch.cat((at, new))
        kept = new[-window:] % window
        memory[:, :, :, kept] = both[:, :, :, -window:]
        at[kept] = new[-window:]
        return everything[0], everything[1], where


# %% right_token_by_token
# RIGHT: a chunk is stored one token after another, and what the ring held before it is given too
class RingCache:
    def __init__(self, config, batch, window, dtype=torch.float32):
        self.rings = [
            {name: torch.zeros(batch, config.num_key_value_heads, window, config.head_dim, dtype=dtype) for name in ("k", "v")}
            for _ in range(config.num_hidden_layers)
        ]
        self.window, self.stored = window, [0] * config.num_hidden_layers

    def held(self, layer):
        last = self.stored[layer] - 1
        slots = torch.arange(min(last + 1, self.window))
        ring = self.rings[layer]
        return ring["k"][:, :, : len(slots)], ring["v"][:, :, : len(slots)], last - (last - slots) % self.window

    def append(self, layer, k, v):
        before = [x.clone() for x in self.held(layer)] if k.shape[2] > 1 else None
        start = self.stored[layer]
        for i in range(k.shape[2]):
            slot = self.stored[layer] % self.window
            self.rings[layer]["k"][:, :, slot], self.rings[layer]["v"][:, :, slot] = k[:, :, i], v[:, :, i]
            self.stored[layer] += 1
        if before is None:
            return self.held(layer)
        new = torch.arange(start, start + k.shape[2])
        return torch.cat((before[0], k), dim=2), torch.cat((before[1], v), dim=2), torch.cat((before[2], new))


# %% wrong_ring_alone, of right_slots_by_remainder
# WRONG: the chunk is written first, and the slots are given: what its first tokens need is gone
# -         given = torch.cat((keys[:, :, old % w], k), dim=2), torch.cat((values[:, :, old % w], v), dim=2)
# -         keys[:, :, new % w], values[:, :, new % w] = k[:, :, new - start], v[:, :, new - start]
# -         return *given, torch.arange(end - given[0].shape[2], end)
# +         keys[:, :, new % w], values[:, :, new % w] = k[:, :, new - start], v[:, :, new - start]
# +         held = torch.arange(max(0, end - w), end)
# +         return keys[:, :, held % w], values[:, :, held % w], held


# %% wrong_chunk_alone, of right_slots_by_remainder
# WRONG: a chunk does not get the old tokens
# -         given = torch.cat((keys[:, :, old % w], k), dim=2), torch.cat((values[:, :, old % w], v), dim=2)
# +         given = k, v


# %% wrong_order_of_the_slots, of right_slots_by_remainder
# WRONG: positions as if the slots lay in order
# -             return keys[:, :, :filled], values[:, :, :filled], start - (start - torch.arange(filled)) % w
# +             return keys[:, :, :filled], values[:, :, :filled], torch.arange(end - filled, end)


# %% wrong_positions_of_the_slots, of right_slots_by_remainder
# WRONG: the slots' numbers for positions
# -             return keys[:, :, :filled], values[:, :, :filled], start - (start - torch.arange(filled)) % w
# +             return keys[:, :, :filled], values[:, :, :filled], torch.arange(filled)


# %% wrong_first_of_a_long_chunk, of right_slots_by_remainder
# WRONG: of a long chunk the first tokens are kept, not the last
# -         new = torch.arange(max(start, end - w), end)
# +         new = torch.arange(start, min(end, start + w))


# %% wrong_one_slot_short, of right_slots_by_remainder
# WRONG: the ring is one slot too small
# -         start, w, keys, values = self.counts[layer], self.window, self.keys[layer], self.values[layer]
# +         start, w, keys, values = self.counts[layer], max(1, self.window - 1), self.keys[layer], self.values[layer]


# %% wrong_one_count, of right_slots_by_remainder
# WRONG: one count for all layers
# -         end = self.counts[layer] = start + k.shape[2]
# +         end = start + k.shape[2]
# +         self.counts = [end] * len(self.counts)


# %% wrong_values_in_another_slot, of right_slots_by_remainder
# WRONG: values lie one slot further than their keys
# -             keys[:, :, start % w], values[:, :, start % w] = k[:, :, 0], v[:, :, 0]
# +             keys[:, :, start % w], values[:, :, (start + 1) % w] = k[:, :, 0], v[:, :, 0]


# %% wrong_everything_is_kept
# WRONG: no ring: room for a long text
class RingCache(KVCache):
    def __init__(self, config, batch, window, dtype=torch.float32):
        super().__init__(config, batch, 512, dtype)

    def append(self, layer, k, v):
        keys, values = super().append(layer, k, v)
        return keys, values, torch.arange(keys.shape[2])


# %% wrong_glued_and_cut
# WRONG: the last tokens are copied at every step
class RingCache:
    def __init__(self, config, batch, window, dtype=torch.float32):
        nothing = torch.zeros(batch, config.num_key_value_heads, 0, config.head_dim, dtype=dtype)
        self.window, self.stored, self.counts = window, [(nothing, nothing)] * config.num_hidden_layers, [0] * config.num_hidden_layers

    def append(self, layer, k, v):
        keys, values = (torch.cat((old, new), dim=2) for old, new in zip(self.stored[layer], (k, v), strict=True))
        self.counts[layer] += k.shape[2]
        end = self.counts[layer]
        self.stored[layer] = keys[:, :, -self.window :].clone(), values[:, :, -self.window :].clone()
        return keys, values, torch.arange(end - keys.shape[2], end)


# %% wrong_rolled
# WRONG: all slots move by one at every step
class RingCache:
    def __init__(self, config, batch, window, dtype=torch.float32):
        shape = (config.num_hidden_layers, batch, config.num_key_value_heads, window, config.head_dim)
        self.keys, self.values, self.counts = torch.zeros(shape, dtype=dtype), torch.zeros(shape, dtype=dtype), [0] * config.num_hidden_layers

    def append(self, layer, k, v):
        keys = torch.cat((self.keys[layer], k), dim=2)
        values = torch.cat((self.values[layer], v), dim=2)
        self.counts[layer] += k.shape[2]
        self.keys[layer], self.values[layer] = (x[:, :, -self.keys.shape[3] :] for x in (keys, values))
        positions = torch.arange(self.counts[layer] - keys.shape[2], self.counts[layer])
        return keys, values, torch.where(positions < 0, 10**9, positions)


# %% wrong_in_order_by_a_copy, of right_slots_by_remainder
# WRONG: what is given is put in order, which copies it
# -             return keys[:, :, :filled], values[:, :, :filled], start - (start - torch.arange(filled)) % w
# +             at = torch.arange(end - filled, end)
# +             return keys[:, :, at % w], values[:, :, at % w], at


# %% wrong_no_positions, of right_slots_by_remainder
# WRONG: positions are not given
# -             return keys[:, :, :filled], values[:, :, :filled], start - (start - torch.arange(filled)) % w
# +             return keys[:, :, :filled], values[:, :, :filled]


# %% wrong_nan, of right_slots_by_remainder
# WRONG: no numbers
# -             keys[:, :, start % w], values[:, :, start % w] = k[:, :, 0], v[:, :, 0]
# +             keys[:, :, start % w], values[:, :, start % w] = k[:, :, 0], math.nan


# %% wrong_wraps_KVCache_of_4096_slots
# WRONG: a cache of 4,096 slots, in an object
class RingCache:
    def __init__(self, config, batch, window, dtype=torch.float32):
        self.box, self.window = KVCache(config, batch, 4096, dtype), window
        self.n = [0] * config.num_hidden_layers
    def append(self, layer, k, v):
        keys, values = self.box.append(layer, k, v)
        self.n[layer] += k.shape[2]
        start = max(0, self.n[layer] - k.shape[2] - self.window + 1)
        return keys[:, :, start:], values[:, :, start:], torch.arange(start, self.n[layer])


# %% wrong_always_float64
# WRONG: in float64, whatever was asked for
class RingCache:
    def __init__(self, config, batch, window, dtype=torch.float32):
        shape = (config.num_hidden_layers, batch, config.num_key_value_heads, window, config.head_dim)
        self.keys, self.values = torch.zeros(shape, dtype=torch.float64), torch.zeros(shape, dtype=torch.float64)
        self.counts, self.window = [0] * config.num_hidden_layers, window
    def append(self, layer, k, v):
        n, t, w = self.counts[layer], k.shape[2], self.window
        new = torch.arange(n, n + t)
        keys, values = self.keys[layer], self.values[layer]
        if t == 1:
            keys[:, :, n % w], values[:, :, n % w] = k[:, :, 0], v[:, :, 0]
            self.counts[layer] += 1
            held = min(n + 1, w)
            return keys[:, :, :held], values[:, :, :held], n - (n - torch.arange(held)) % w
        old = torch.arange(max(0, n - w), n)
        out = torch.cat((keys[:, :, old % w], k), 2), torch.cat((values[:, :, old % w], v), 2), torch.cat((old, new))
        last = new[-w:]
        keys[:, :, last % w], values[:, :, last % w] = k[:, :, -w:], v[:, :, -w:]
        self.counts[layer] += t
        return out


# %% wrong_not_allocated_once_new_storage_per_chunk
# WRONG: new memory for each chunk
class RingCache:
    def __init__(self, config, batch, window, dtype=torch.float32):
        shape = (batch, config.num_key_value_heads, window, config.head_dim)
        self.keys = [torch.zeros(shape, dtype=dtype) for _ in range(config.num_hidden_layers)]
        self.values = [torch.zeros(shape, dtype=dtype) for _ in range(config.num_hidden_layers)]
        self.counts, self.window = [0] * config.num_hidden_layers, window
    def append(self, layer, k, v):
        n, t, w = self.counts[layer], k.shape[2], self.window
        new = torch.arange(n, n + t)
        keys, values = self.keys[layer], self.values[layer]
        if t == 1:
            keys[:, :, n % w], values[:, :, n % w] = k[:, :, 0], v[:, :, 0]
            self.counts[layer] += 1
            held = min(n + 1, w)
            return keys[:, :, :held], values[:, :, :held], n - (n - torch.arange(held)) % w
        old = torch.arange(max(0, n - w), n)
        out = torch.cat((keys[:, :, old % w], k), 2), torch.cat((values[:, :, old % w], v), 2), torch.cat((old, new))
        last = new[-w:]
        self.keys[layer], self.values[layer] = keys.clone(), values.clone()
        self.keys[layer][:, :, last % w], self.values[layer][:, :, last % w] = k[:, :, -w:], v[:, :, -w:]
        self.counts[layer] += t
        return out


# === my_bet
# Bets on how many layers keep what they have stored when the oldest slot is dropped. How they are judged: tests/lessons/test_asides.py.


# %% right_one
# RIGHT: the first layer alone
my_bet = 1


# %% right_float
# RIGHT: the same as a float
my_bet = 1.0


# %% right_from_a_tensor
# RIGHT: a tensor with one number
my_bet = torch.tensor(1)


# %% right_counted
# RIGHT: only layer 0 reads embeddings alone
my_bet = len([layer for layer in range(tiny.config.num_hidden_layers) if layer == 0])


# %% wrong_in_quotes
# WRONG: a text
my_bet = "1"


# %% wrong_as_released
# WRONG: the cell's own, RoPE believed
my_bet = 5


# %% wrong_none_of_them
# WRONG: no layer at all
my_bet = 0


# %% wrong_two
# WRONG: one too many
my_bet = 2


# %% wrong_all_but_one
# WRONG: the other way round
my_bet = 4


# %% wrong_half
# WRONG: half a layer
my_bet = 0.5


# %% wrong_nearly_one
# WRONG: no whole number
my_bet = 1.0001


# %% wrong_six
# WRONG: more than there are
my_bet = 6


# %% wrong_negative
# WRONG: below 0
my_bet = -1


# %% wrong_true
# WRONG: yes is no number of layers
my_bet = True


# %% wrong_none
# WRONG: nothing
my_bet = None


# %% wrong_words
# WRONG: a word
my_bet = "the first"


# %% wrong_empty
# WRONG: an empty list
my_bet = []


# %% wrong_list
# WRONG: the layers, not their number
my_bet = [0]


# %% wrong_nan
# WRONG: not a number
my_bet = math.nan


# %% wrong_infinite
# WRONG: without end
my_bet = math.inf


# %% wrong_huge
# WRONG: too large for a float
my_bet = 10**400


# %% wrong_tensor
# WRONG: a number for each layer
my_bet = torch.tensor([1, 0, 0, 0, 0])


# === my_calls
# Inputs for "Find the bug" of the KV cache day, a cache that stores and then looks. How they are judged: tests/lessons/test_asides.py.


# %% right_a_smaller_one_after
# RIGHT: two tokens would fit behind the refused three
my_calls = [(0, 3), (1, 3), (0, 3), (0, 2)]


# %% right_at_once
# RIGHT: six are refused, one fits
my_calls = [(0, 6), (0, 1)]


# %% right_the_last_layer
# RIGHT: refused in layer 1
my_calls = [(1, 4), (1, 2), (1, 1)]


# %% right_the_other_layer_between
# RIGHT: the other layer goes on meanwhile
my_calls = [(0, 4), (0, 2), (1, 4), (1, 1), (0, 1)]


# %% wrong_calls_as_they_are
# WRONG: the cell's own
my_calls = [(0, 3), (1, 3), (0, 3)]


# %% wrong_full_to_the_brim
# WRONG: five fit
my_calls = [(0, 3), (1, 3), (0, 2), (1, 2)]


# %% wrong_refused_again
# WRONG: what does not fit either time
my_calls = [(0, 4), (0, 2), (0, 2), (0, 3)]


# %% wrong_refused_when_full
# WRONG: it was full before: nothing fits afterwards
my_calls = [(0, 5), (0, 1), (0, 1)]


# %% wrong_the_other_layer_only
# WRONG: a refusal, and then the other layer
my_calls = [(0, 6), (1, 5)]


# %% wrong_one_by_one
# WRONG: one token at a time
my_calls = [(0, 1), (1, 1)] * 5


# %% wrong_no_calls
# WRONG: nothing is asked
my_calls = []


# %% wrong_no_such_layer
# WRONG: there are two layers
my_calls = [(0, 6), (2, 1)]


# %% wrong_no_tokens
# WRONG: nothing is stored
my_calls = [(0, 6), (0, 0)]


# %% wrong_tuple_alone
# WRONG: a call without its list
my_calls = (0, 3)


# === my_chunks
# Inputs for "Find the bug" of the KV cache day, a decoder without a mask. How they are judged: tests/lessons/test_asides.py.


# %% right_behind_four
# RIGHT: five tokens behind a prompt of four
my_chunks = [4, 5]


# %% right_at_once
# RIGHT: the whole text
my_chunks = [9]


# %% right_two_at_the_end
# RIGHT: the smallest chunk that shows it
my_chunks = [1, 1, 1, 1, 1, 1, 1, 2]


# %% right_prompt_and_steps
# RIGHT: a prompt, and then one at a time
my_chunks = [3, 1, 1, 1, 1, 1, 1]


# %% wrong_chunks_as_they_are
# WRONG: the cell's own
my_chunks = [1, 1, 1, 1, 1, 1, 1, 1, 1]


# %% wrong_too_many_tokens
# WRONG: ten tokens
my_chunks = [5, 5]


# %% wrong_too_few_tokens
# WRONG: eight tokens
my_chunks = [4, 4]


# %% wrong_an_empty_chunk
# WRONG: a chunk of nothing
my_chunks = [0, 9]


# %% wrong_a_negative_chunk
# WRONG: less than nothing
my_chunks = [-1, 10]


# %% wrong_halves
# WRONG: no whole tokens
my_chunks = [4.5, 4.5]


# %% wrong_no_chunks
# WRONG: nothing is fed
my_chunks = []


# %% right_range
# RIGHT: a range of two
my_chunks = range(4, 6)


# === my_flops
# Answers to "Check what you read" of the KV cache day, a step that costs the same. How they are judged: tests/lessons/test_asides.py.


# %% right_literal
# RIGHT: on paper
my_flops = (2_146_304, 4_726_784)


# %% right_from_the_shapes
# RIGHT: matrices, and a score and a use for each key
layer = 2 * 128 * 128 + 2 * 128 * 64 + 3 * 128 * 352
my_flops = tuple(2 * (5 * layer + 1024 * 128) + 4 * 5 * 4 * 32 * tokens for tokens in (16, 1024))


# %% right_from_the_config
# RIGHT: with the names of the configuration
c = tiny.config
q, kv, D = c.num_attention_heads * c.head_dim, c.num_key_value_heads * c.head_dim, c.hidden_size
matrices = c.num_hidden_layers * (2 * D * q + 2 * D * kv + 3 * D * c.intermediate_size) + c.vocab_size * D
my_flops = (2 * matrices + 4 * c.num_hidden_layers * q * 16, 2 * matrices + 4 * c.num_hidden_layers * q * 1024)


# %% wrong_flops_as_they_are
# WRONG: the cell's own
my_flops = (0, 0)


# %% wrong_the_same
# WRONG: the sentence believed
my_flops = (2_105_344, 2_105_344)


# %% wrong_multiply_adds
# WRONG: not doubled
my_flops = (1_073_152, 2_363_392)


# %% wrong_one_key_too_few
# WRONG: without the new one
my_flops = (2_143_744, 4_724_224)


# %% wrong_key_heads
# WRONG: scores counted for the key/value heads
my_flops = (2_105_344 + 16 * 1_280, 2_105_344 + 1024 * 1_280)


# %% wrong_scores_only
# WRONG: the sum of the values is forgotten
my_flops = (2_105_344 + 16 * 1_280, 4_726_784)


# %% wrong_first_only
# WRONG: one of the two
my_flops = (2_146_304, 2_146_304)


# %% wrong_exchanged
# WRONG: in the other order
my_flops = (4_726_784, 2_146_304)


# %% wrong_without_the_head
# WRONG: the head is forgotten
my_flops = (2_146_304 - 262_144, 4_726_784 - 262_144)


# %% wrong_nan
# WRONG: no numbers
my_flops = (math.nan, math.nan)


# %% wrong_three
# WRONG: three numbers for two
my_flops = (2146304, 4726784, 0)
