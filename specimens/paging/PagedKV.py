# Versions of PagedKV, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_kv_plain
# RIGHT: step by step; most of the wrong versions are edits of it

class PagedKV:
    def __init__(self, config, num_blocks, block_size, dtype=torch.float32, device="cpu"):
        self.block_size = block_size
        shape = (config.num_hidden_layers, num_blocks * block_size, config.num_key_value_heads, config.head_dim)
        self.keys = torch.zeros(shape, dtype=dtype, device=device)
        self.values = torch.zeros(shape, dtype=dtype, device=device)

    def write(self, layer, slots, k, v):
        self.keys[layer, slots] = k
        self.values[layer, slots] = v

    def read(self, layer, slots):
        return self.keys[layer, slots], self.values[layer, slots]

    def copy(self, pairs):
        for old, new in pairs:
            source = slice(old * self.block_size, (old + 1) * self.block_size)
            target = slice(new * self.block_size, (new + 1) * self.block_size)
            self.keys[:, target] = self.keys[:, source]
            self.values[:, target] = self.values[:, source]

    @property
    def nbytes(self):
        return self.keys.nbytes + self.values.nbytes


# %% right_kv_token_by_token
# RIGHT: each token is written for itself; a copy layer by layer and place by place

class PagedKV:
    def __init__(self, config, num_blocks, block_size, dtype=torch.float32, device="cpu"):
        self.block_size = block_size
        shape = (config.num_hidden_layers, num_blocks * block_size, config.num_key_value_heads, config.head_dim)
        self.keys = torch.zeros(shape, dtype=dtype, device=device)
        self.values = torch.zeros(shape, dtype=dtype, device=device)

    def write(self, layer, slots, k, v):
        for i, slot in enumerate(slots.tolist()):
            self.keys[layer][slot] = k[i]
            self.values[layer][slot] = v[i]

    def read(self, layer, slots):
        return [torch.stack([memory[layer, slot] for slot in slots.tolist()]) for memory in (self.keys, self.values)]

    def copy(self, pairs):
        for old, new in pairs:
            for place in range(self.block_size):
                for memory in (self.keys, self.values):
                    for layer in range(len(memory)):
                        memory[layer, new * self.block_size + place] = memory[layer, old * self.block_size + place].clone()

    @property
    def nbytes(self):
        return 2 * self.keys.numel() * self.keys.element_size()


# %% right_kv_all_pairs_at_once
# RIGHT: index_copy_ and index_select; all pairs are copied together through their slots

class PagedKV:
    def __init__(self, config, num_blocks, block_size, dtype=torch.float32, device="cpu"):
        self.block_size = block_size
        shape = (config.num_hidden_layers, num_blocks * block_size, config.num_key_value_heads, config.head_dim)
        self.keys = torch.zeros(shape, dtype=dtype, device=device)
        self.values = torch.zeros(shape, dtype=dtype, device=device)

    def write(self, layer, slots, k, v):
        self.keys[layer].index_copy_(0, slots, k)
        self.values[layer].index_copy_(0, slots, v)

    def read(self, layer, slots):
        return self.keys[layer].index_select(0, slots), self.values[layer].index_select(0, slots)

    def copy(self, pairs):
        if not pairs:
            return
        blocks = torch.tensor(pairs, device=self.keys.device)
        slots = blocks[..., None] * self.block_size + torch.arange(self.block_size, device=blocks.device)
        old, new = slots[:, 0].flatten(), slots[:, 1].flatten()
        for memory in (self.keys, self.values):
            memory.index_copy_(1, new, memory.index_select(1, old))

    @property
    def nbytes(self):
        return sum(memory.untyped_storage().nbytes() for memory in (self.keys, self.values))


# %% wrong_kv_copies_keys_only, of right_kv_plain
# WRONG: copy forgets the values
# -             self.values[:, target] = self.values[:, source]

# %% wrong_kv_copies_one_layer, of right_kv_plain
# WRONG: copy forgets all layers but the first
# -             self.keys[:, target] = self.keys[:, source]
# -             self.values[:, target] = self.values[:, source]
# +             self.keys[0, target] = self.keys[0, source]
# +             self.values[0, target] = self.values[0, source]

# %% wrong_kv_copies_backwards, of right_kv_plain
# WRONG: copy goes from new to old
# -         for old, new in pairs:
# +         for new, old in pairs:

# %% wrong_kv_copies_one_slot, of right_kv_plain
# WRONG: copy takes the block's number for a slot
# -             source = slice(old * self.block_size, (old + 1) * self.block_size)
# -             target = slice(new * self.block_size, (new + 1) * self.block_size)
# +             source = slice(old, old + 1)
# +             target = slice(new, new + 1)

# %% wrong_kv_copies_the_first_pair, of right_kv_plain
# WRONG: only the first pair is copied
# -         for old, new in pairs:
# +         for old, new in pairs[:1]:

# %% wrong_kv_copy_moves_everything, of right_kv_plain
# WRONG: the whole memory is copied for one block
# -             self.keys[:, target] = self.keys[:, source]
# -             self.values[:, target] = self.values[:, source]
# +             keys, values = self.keys.clone(), self.values.clone()
# +             keys[:, target], values[:, target] = self.keys[:, source], self.values[:, source]
# +             self.keys, self.values = keys, values

# %% wrong_kv_writes_all_layers, of right_kv_plain
# WRONG: a write goes into every layer
# -         self.keys[layer, slots] = k
# -         self.values[layer, slots] = v
# +         self.keys[:, slots] = k
# +         self.values[:, slots] = v

# %% wrong_kv_writes_keys_twice, of right_kv_plain
# WRONG: values are never written
# -         self.values[layer, slots] = v

# %% wrong_kv_writes_in_a_row, of right_kv_plain
# WRONG: tokens are written one after the other from the first slot on
# -         self.keys[layer, slots] = k
# -         self.values[layer, slots] = v
# +         first = int(slots[0])
# +         self.keys[layer, first : first + len(k)] = k[: len(self.keys[layer]) - first]
# +         self.values[layer, first : first + len(v)] = v[: len(self.keys[layer]) - first]

# %% wrong_kv_writes_a_new_memory, of right_kv_plain
# WRONG: a write copies the whole memory
# -         self.keys[layer, slots] = k
# -         self.values[layer, slots] = v
# +         self.keys = self.keys.clone()
# +         self.values = self.values.clone()
# +         self.keys[layer, slots] = k
# +         self.values[layer, slots] = v

# %% wrong_kv_reads_layer_zero, of right_kv_plain
# WRONG: read gives the first layer's keys and values
# -         return self.keys[layer, slots], self.values[layer, slots]
# +         return self.keys[0, slots], self.values[0, slots]

# %% wrong_kv_reads_all_layers, of right_kv_plain
# WRONG: read copies the slots of all layers out of the memory, and gives one of them
# -         return self.keys[layer, slots], self.values[layer, slots]
# +         return self.keys[:, slots][layer], self.values[:, slots][layer]

# %% wrong_kv_reads_keys_twice, of right_kv_plain
# WRONG: read gives the keys in place of the values
# -         return self.keys[layer, slots], self.values[layer, slots]
# +         return self.keys[layer, slots], self.keys[layer, slots]

# %% wrong_kv_bytes_of_keys, of right_kv_plain
# WRONG: nbytes counts the keys alone
# -         return self.keys.nbytes + self.values.nbytes
# +         return self.keys.nbytes


# %% right_kv_views_of_one_memory
# RIGHT: keys and values are views of one private tensor, through which everything is written and read
class PagedKV:
    def __init__(self, config, num_blocks, block_size, dtype=torch.float32, device="cpu"):
        self.block_size = block_size
        shape = (2, config.num_hidden_layers, num_blocks * block_size, config.num_key_value_heads, config.head_dim)
        self._memory = torch.zeros(shape, dtype=dtype, device=device)
        self.keys, self.values = self._memory.unbind(0)

    def write(self, layer, slots, k, v):
        self._memory[0, layer, slots] = k
        self._memory[1, layer, slots] = v

    def read(self, layer, slots):
        return tuple(self._memory[:, layer, slots])

    def copy(self, pairs):
        blocks = self._memory.unflatten(2, (-1, self.block_size))
        for old, new in pairs:
            blocks[:, :, new] = blocks[:, :, old]

    @property
    def nbytes(self):
        return self._memory.nbytes


# %% right_kv_properties
# RIGHT: keys and values are properties that nobody can set
class PagedKV:
    def __init__(self, config, num_blocks, block_size, dtype=torch.float32, device="cpu"):
        self.block_size = block_size
        shape = (config.num_hidden_layers, num_blocks * block_size, config.num_key_value_heads, config.head_dim)
        self._both = [torch.zeros(shape, dtype=dtype, device=device) for _ in range(2)]

    @property
    def keys(self):
        return self._both[0]

    @property
    def values(self):
        return self._both[1]

    def write(self, layer, slots, k, v):
        for memory, new in zip(self._both, (k, v)):
            memory[layer][slots] = new

    def read(self, layer, slots):
        return tuple(memory[layer][slots] for memory in self._both)

    def copy(self, pairs):
        for memory in self._both:
            for old, new in pairs:
                size = self.block_size
                memory[:, new * size : (new + 1) * size] = memory[:, old * size : (old + 1) * size]

    @property
    def nbytes(self):
        return self.keys.nbytes + self.values.nbytes


# %% wrong_kv_slots_in_sixteen_bits, of right_kv_plain
# WRONG: slots pass through 16 bits, so that those from 32,768 on are negative
# -         self.keys[layer, slots] = k
# -         self.values[layer, slots] = v
# +         slots = slots.to(torch.int16).long()
# +         self.keys[layer, slots] = k
# +         self.values[layer, slots] = v


# %% wrong_kv_eight_layers, of right_kv_plain
# WRONG: copy takes the first eight layers along, and no more
# -             self.keys[:, target] = self.keys[:, source]
# -             self.values[:, target] = self.values[:, source]
# +             self.keys[:8, target] = self.keys[:8, source]
# +             self.values[:8, target] = self.values[:8, source]


# %% wrong_kv_eight_pairs, of right_kv_plain
# WRONG: eight pairs are copied at most
# -         for old, new in pairs:
# +         for old, new in pairs[:8]:


# %% wrong_kv_wide_heads, of right_kv_plain
# WRONG: of a head wider than 64 the first 64 numbers are stored
# -         self.keys[layer, slots] = k
# -         self.values[layer, slots] = v
# +         self.keys[layer, slots, :, :64] = k[..., :64]
# +         self.values[layer, slots, :, :64] = v[..., :64]


# %% wrong_kv_writes_256_tokens, of right_kv_plain
# WRONG: of a chunk the first 256 tokens are stored
# -         self.keys[layer, slots] = k
# -         self.values[layer, slots] = v
# +         self.keys[layer, slots[:256]] = k[:256]
# +         self.values[layer, slots[:256]] = v[:256]


# %% wrong_kv_rounds_to_float32, of right_kv_plain
# WRONG: keys and values pass through float32, also into a memory of float64
# -         self.keys[layer, slots] = k
# -         self.values[layer, slots] = v
# +         self.keys[layer, slots] = k.float().to(self.keys.dtype)
# +         self.values[layer, slots] = v.float().to(self.values.dtype)
