# Versions of QuantizedKVCache, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_cache_plain
# RIGHT: step by step; most of the wrong versions are edits of it

class QuantizedKVCache:
    def __init__(self, config, batch, max_len, device="cpu"):
        L, K, Dh = config.num_hidden_layers, config.num_key_value_heads, config.head_dim
        self.keys = torch.zeros(L, batch, K, max_len, Dh, dtype=torch.int8, device=device)
        self.values = torch.zeros(L, batch, K, max_len, Dh, dtype=torch.int8, device=device)
        self.key_scales = torch.zeros(L, batch, K, max_len, 1, dtype=torch.float16, device=device)
        self.value_scales = torch.zeros(L, batch, K, max_len, 1, dtype=torch.float16, device=device)
        self.max_len = max_len
        self.counts = [0] * L

    def append(self, layer, k, v):
        start = self.counts[layer]
        end = start + k.shape[2]
        if end > self.max_len:
            raise CacheFull(f"{end} tokens do not fit into max_len {self.max_len}")
        results = []
        for memory, scales, new in ((self.keys, self.key_scales, k), (self.values, self.value_scales, v)):
            q, scale = quantize_absmax(new)
            memory[layer, :, :, start:end] = q
            scales[layer, :, :, start:end] = scale
            results.append(dequantize(memory[layer, :, :, :end], scales[layer, :, :, :end]))
        self.counts[layer] = end
        return tuple(results)

    @property
    def length(self):
        return self.counts[-1]

    @property
    def nbytes(self):
        return self.keys.nbytes + self.values.nbytes + self.key_scales.nbytes + self.value_scales.nbytes

    def reset(self):
        self.counts = [0] * len(self.counts)


# %% right_cache_stored_scale
# RIGHT: the numbers are for the scale as float16 has it; by itself, without the other functions

class QuantizedKVCache:
    def __init__(self, config, batch, max_len, device="cpu"):
        shape = (config.num_hidden_layers, 2, batch, config.num_key_value_heads, max_len)
        self.q = torch.empty(*shape, config.head_dim, dtype=torch.int8, device=device)
        self.scale = torch.empty(*shape, dtype=torch.float16, device=device)
        self.filled = [0 for _ in range(config.num_hidden_layers)]

    def append(self, layer, k, v):
        n, t = self.filled[layer], k.size(2)
        if n + t > self.q.shape[-2]:
            raise CacheFull(f"max_len is {self.q.shape[-2]}")
        new = torch.stack((k.float(), v.float()))
        scale = (new.abs().amax(-1) / 127).half()
        divisor = torch.where(scale > 0, scale.float(), torch.ones_like(new[..., 0]))
        self.q[layer, :, :, :, n : n + t] = (new / divisor.unsqueeze(-1)).round().clamp(-127, 127).to(torch.int8)
        self.scale[layer, :, :, :, n : n + t] = scale
        self.filled[layer] = n + t
        all_of_it = self.q[layer, :, :, :, : n + t].float() * self.scale[layer, :, :, :, : n + t].float().unsqueeze(-1)
        return all_of_it[0], all_of_it[1]

    length = property(lambda self: self.filled[-1])
    nbytes = property(lambda self: self.q.nbytes + self.scale.nbytes)

    def reset(self):
        self.filled = [0 for _ in self.filled]


# %% right_cache_object_a_layer
# RIGHT: an object for each layer; slots before heads

class Vectors:
    def __init__(self, shape, device):
        self.q = torch.zeros(shape, dtype=torch.int8, device=device)
        self.scale = torch.zeros((*shape[:-1], 1), dtype=torch.float16, device=device)

    def put(self, start, new):
        q, scale = quantize_absmax(new.transpose(1, 2))
        self.q[:, start : start + q.shape[1]].copy_(q)
        self.scale[:, start : start + q.shape[1]].copy_(scale)

    def get(self, end):
        return (self.q[:, :end].to(torch.float32) * self.scale[:, :end].to(torch.float32)).transpose(1, 2)


class QuantizedKVCache:
    def __init__(self, config, batch, max_len, device="cpu"):
        shape = (batch, max_len, config.num_key_value_heads, config.head_dim)
        self.layers = [(Vectors(shape, device), Vectors(shape, device)) for _ in range(config.num_hidden_layers)]
        self.max_len = max_len
        self.reset()

    def append(self, layer, k, v):
        start, t = self.counts[layer], k.shape[2]
        if self.max_len - start < t:
            raise CacheFull(f"{t} more tokens behind {start}: max_len is {self.max_len}")
        for store, new in zip(self.layers[layer], (k, v)):
            store.put(start, new)
        self.counts[layer] = start + t
        return tuple(store.get(start + t) for store in self.layers[layer])

    @property
    def length(self):
        return self.counts[-1]

    @property
    def nbytes(self):
        return sum(store.q.nbytes + store.scale.nbytes for pair in self.layers for store in pair)

    def reset(self):
        self.counts = [0 for _ in self.layers]


# %% wrong_cache_scale_of_the_first_token, of right_cache_plain
# WRONG: the first token's scale serves all later ones, which are cut off where they are larger
# -             q, scale = quantize_absmax(new)
# -             memory[layer, :, :, start:end] = q
# -             scales[layer, :, :, start:end] = scale
# +             if start == 0:
# +                 scales[layer, :, :, :] = quantize_absmax(new[:, :, :1])[1]
# +             scale = scales[layer, :, :, start:end].float()
# +             q = torch.where(scale > 0, new / scale, torch.zeros_like(new).float()).round().clamp(-127, 127)
# +             memory[layer, :, :, start:end] = q.to(torch.int8)

# %% wrong_cache_scale_over_heads, of right_cache_plain
# WRONG: one scale for all heads of a token
# -             q, scale = quantize_absmax(new)
# +             scale = (new.float().abs().amax(dim=(1, 3), keepdim=True) / 127).expand(*new.shape[:3], 1)
# +             q = torch.where(scale > 0, new / scale, torch.zeros_like(new).float()).round().to(torch.int8)

# %% wrong_cache_scale_over_tokens, of right_cache_plain
# WRONG: one scale for all tokens of an append
# -             q, scale = quantize_absmax(new)
# +             scale = (new.float().abs().amax(dim=(2, 3), keepdim=True) / 127).expand(*new.shape[:3], 1)
# +             q = torch.where(scale > 0, new / scale, torch.zeros_like(new).float()).round().to(torch.int8)

# %% wrong_cache_scale_over_rows, of right_cache_plain
# WRONG: one scale for all rows of a batch
# -             q, scale = quantize_absmax(new)
# +             scale = (new.float().abs().amax(dim=(0, 3), keepdim=True) / 127).expand(*new.shape[:3], 1)
# +             q = torch.where(scale > 0, new / scale, torch.zeros_like(new).float()).round().to(torch.int8)

# %% wrong_cache_keys_scale_for_values, of right_cache_plain
# WRONG: the values come back with the scales of the keys
# -             results.append(dequantize(memory[layer, :, :, :end], scales[layer, :, :, :end]))
# +             results.append(dequantize(memory[layer, :, :, :end], self.key_scales[layer, :, :, :end]))

# %% wrong_cache_floating, of right_cache_plain
# WRONG: keeps floating numbers, so that nothing is saved
# -         self.keys = torch.zeros(L, batch, K, max_len, Dh, dtype=torch.int8, device=device)
# -         self.values = torch.zeros(L, batch, K, max_len, Dh, dtype=torch.int8, device=device)
# +         self.keys = torch.zeros(L, batch, K, max_len, Dh, dtype=torch.float32, device=device)
# +         self.values = torch.zeros(L, batch, K, max_len, Dh, dtype=torch.float32, device=device)

# %% wrong_cache_float32_scales, of right_cache_plain
# WRONG: the scales are kept in float32
# -         self.key_scales = torch.zeros(L, batch, K, max_len, 1, dtype=torch.float16, device=device)
# -         self.value_scales = torch.zeros(L, batch, K, max_len, 1, dtype=torch.float16, device=device)
# +         self.key_scales = torch.zeros(L, batch, K, max_len, 1, dtype=torch.float32, device=device)
# +         self.value_scales = torch.zeros(L, batch, K, max_len, 1, dtype=torch.float32, device=device)

# %% wrong_cache_scales_not_counted, of right_cache_plain
# WRONG: nbytes leaves the scales out
# -         return self.keys.nbytes + self.values.nbytes + self.key_scales.nbytes + self.value_scales.nbytes
# +         return self.keys.nbytes + self.values.nbytes

# %% wrong_cache_nbytes_of_float, of right_cache_plain
# WRONG: nbytes counts four bytes a number
# -         return self.keys.nbytes + self.values.nbytes + self.key_scales.nbytes + self.value_scales.nbytes
# +         return 4 * (self.keys.numel() + self.values.numel())

# %% wrong_cache_nbytes_by_formula, of right_cache_plain
# WRONG: nbytes says what 8 bits would take, and floating numbers are kept
# -         self.keys = torch.zeros(L, batch, K, max_len, Dh, dtype=torch.int8, device=device)
# -         self.values = torch.zeros(L, batch, K, max_len, Dh, dtype=torch.int8, device=device)
# +         self.keys = torch.zeros(L, batch, K, max_len, Dh, device=device)
# +         self.values = torch.zeros(L, batch, K, max_len, Dh, device=device)
# ...
# -         return self.keys.nbytes + self.values.nbytes + self.key_scales.nbytes + self.value_scales.nbytes
# +         return self.keys.numel() + self.values.numel() + self.key_scales.nbytes + self.value_scales.nbytes

# %% wrong_cache_nbytes_filled, of right_cache_plain
# WRONG: nbytes counts what is filled, not what is allocated
# -         return self.keys.nbytes + self.values.nbytes + self.key_scales.nbytes + self.value_scales.nbytes
# +         whole = self.keys.nbytes + self.values.nbytes + self.key_scales.nbytes + self.value_scales.nbytes
# +         return whole * self.counts[-1] // self.max_len

# %% wrong_cache_gives_new_as_it_is, of right_cache_plain
# WRONG: the new tokens come back as they were given, not as they are kept
# -             results.append(dequantize(memory[layer, :, :, :end], scales[layer, :, :, :end]))
# +             old = dequantize(memory[layer, :, :, :start], scales[layer, :, :, :start])
# +             results.append(torch.cat((old, new.float()), dim=2))

# %% wrong_cache_gives_numbers, of right_cache_plain
# WRONG: gives the int8 numbers, without their scales
# -             results.append(dequantize(memory[layer, :, :, :end], scales[layer, :, :, :end]))
# +             results.append(memory[layer, :, :, :end].float())

# %% wrong_cache_gives_float16, of right_cache_plain
# WRONG: gives float16
# -             results.append(dequantize(memory[layer, :, :, :end], scales[layer, :, :, :end]))
# +             results.append(memory[layer, :, :, :end] * scales[layer, :, :, :end])

# %% wrong_cache_gives_new_only, of right_cache_plain
# WRONG: gives the new tokens only
# -             results.append(dequantize(memory[layer, :, :, :end], scales[layer, :, :, :end]))
# +             results.append(dequantize(memory[layer, :, :, start:end], scales[layer, :, :, start:end]))

# %% wrong_cache_through_float16, of right_cache_plain
# WRONG: keys and values are cast to float16 before they are quantized, which holds nothing over 65,504
# -             q, scale = quantize_absmax(new)
# +             q, scale = quantize_absmax(new.half())

# %% wrong_cache_4_bits, of right_cache_plain
# WRONG: 4 bits in the memory of 8
# -             q, scale = quantize_absmax(new)
# +             q, scale = quantize_absmax(new, 4)

# %% wrong_cache_counts_shared, of right_cache_plain
# WRONG: one count for all layers
# -         self.counts[layer] = end
# +         self.counts = [end] * len(self.counts)

# %% wrong_cache_keys_twice, of right_cache_plain
# WRONG: keys in both places
# -         for memory, scales, new in ((self.keys, self.key_scales, k), (self.values, self.value_scales, v)):
# +         for memory, scales, new in ((self.keys, self.key_scales, k), (self.values, self.value_scales, k)):

# %% wrong_cache_never_full, of right_cache_plain
# WRONG: too many tokens are not refused: the memory grows
# -             raise CacheFull(f"{end} tokens do not fit into max_len {self.max_len}")
# +             for name in ("keys", "values", "key_scales", "value_scales"):
# +                 setattr(self, name, torch.cat((getattr(self, name),) * 2, dim=3))

# %% wrong_cache_full_one_early, of right_cache_plain
# WRONG: the last slot cannot be used
# -         if end > self.max_len:
# +         if end >= self.max_len:

# %% wrong_cache_full_too_late, of right_cache_plain
# WRONG: the count has moved when the refusal comes
# -         if end > self.max_len:
# +         self.counts[layer] = end
# +         if end > self.max_len:

# %% wrong_cache_plain_value_error, of right_cache_plain
# WRONG: raises ValueError, which is no CacheFull
# -             raise CacheFull(f"{end} tokens do not fit into max_len {self.max_len}")
# +             raise ValueError(f"{end} tokens do not fit into max_len {self.max_len}")

# %% wrong_cache_reset_one_layer, of right_cache_plain
# WRONG: reset empties the last layer only
# -         self.counts = [0] * len(self.counts)
# +         self.counts[-1] = 0

# %% wrong_cache_device_ignored, of right_cache_plain
# WRONG: the memory is on the CPU, whatever device was asked for
# -         L, K, Dh = config.num_hidden_layers, config.num_key_value_heads, config.head_dim
# +         L, K, Dh = config.num_hidden_layers, config.num_key_value_heads, config.head_dim
# +         device = "cpu"

# %% wrong_cache_counts_of_the_class, of right_cache_plain
# WRONG: the counts belong to the class, so that all caches share them
# -         self.counts = [0] * L
# +         QuantizedKVCache.counts = [0] * L
# ...
# -         self.counts = [0] * len(self.counts)
# +         QuantizedKVCache.counts = [0] * len(self.counts)

# %% wrong_cache_view, of right_cache_plain
# WRONG: the vectors by view, which keys and values that are not contiguous do not allow
# -             q, scale = quantize_absmax(new)
# +             q, scale = quantize_absmax(new.view(-1, new.shape[-1]))
# ...
# -             memory[layer, :, :, start:end] = q
# +             memory[layer, :, :, start:end] = q.view(new.shape)
# ...
# -             scales[layer, :, :, start:end] = scale
# +             scales[layer, :, :, start:end] = scale.view(*new.shape[:-1], 1)

# %% wrong_cache_reset_allocates, of right_cache_plain
# WRONG: reset allocates the memory again
# -         self.counts = [0] * len(self.counts)
# +         self.counts = [0] * len(self.counts)
# +         self.keys, self.values = torch.zeros_like(self.keys), torch.zeros_like(self.values)
# +         self.key_scales, self.value_scales = torch.zeros_like(self.key_scales), torch.zeros_like(self.value_scales)


# %% wrong_cache_grows
# WRONG: nothing is allocated at first: every append joins old and new tokens, and nbytes says what a whole cache would take

class QuantizedKVCache:
    def __init__(self, config, batch, max_len, device="cpu"):
        self.max_len, self.device = max_len, device
        self.bytes_of_a_slot = batch * config.num_key_value_heads * (config.head_dim + 2)
        self.stored = [[] for _ in range(config.num_hidden_layers)]

    def append(self, layer, k, v):
        n = self.count(layer)
        if n + k.shape[2] > self.max_len:
            raise CacheFull(f"{n + k.shape[2]} tokens do not fit into max_len {self.max_len}")
        new = [part.to(self.device) for q, scale in (quantize_absmax(k), quantize_absmax(v)) for part in (q, scale.half())]
        self.stored[layer] = [torch.cat(pair, dim=2) for pair in zip(self.stored[layer], new)] if n else new
        kq, key_scale, vq, value_scale = self.stored[layer]
        return dequantize(kq, key_scale), dequantize(vq, value_scale)

    def count(self, layer):
        return self.stored[layer][0].shape[2] if self.stored[layer] else 0

    @property
    def length(self):
        return self.count(-1)

    @property
    def nbytes(self):
        return 2 * len(self.stored) * self.max_len * self.bytes_of_a_slot

    def reset(self):
        self.stored = [[] for _ in self.stored]
