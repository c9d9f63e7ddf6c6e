# Answers to the challenge of the KV cache day. How they are judged: tests/test_asides.py.


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
