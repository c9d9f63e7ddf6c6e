# Versions of KVCache, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_cache_plain
# RIGHT: step by step; most of the wrong versions are edits of it

class KVCache:
    def __init__(self, config, batch, max_len, dtype=torch.float32, device="cpu"):
        shape = (config.num_hidden_layers, batch, config.num_key_value_heads, max_len, config.head_dim)
        self.keys = torch.zeros(shape, dtype=dtype, device=device)
        self.values = torch.zeros(shape, dtype=dtype, device=device)
        self.max_len = max_len
        self.counts = [0] * config.num_hidden_layers

    def append(self, layer, k, v):
        start = self.counts[layer]
        end = start + k.shape[2]
        if end > self.max_len:
            raise CacheFull(f"{end} tokens do not fit into max_len {self.max_len}")
        self.keys[layer, :, :, start:end] = k
        self.values[layer, :, :, start:end] = v
        self.counts[layer] = end
        return self.keys[layer, :, :, :end], self.values[layer, :, :, :end]

    @property
    def length(self):
        return self.counts[-1]

    @property
    def nbytes(self):
        return self.keys.nbytes + self.values.nbytes

    def reset(self):
        self.counts = [0] * len(self.counts)


# %% right_cache_index_copy
# RIGHT: writes through an index of slots; all layers in one tensor with the slots in front

class KVCache:
    def __init__(self, config, batch, max_len, dtype=torch.float32, device="cpu"):
        self.max_len, self.device = max_len, device
        shape = (config.num_hidden_layers, max_len, batch, config.num_key_value_heads, config.head_dim)
        self.k = torch.zeros(shape, dtype=dtype, device=device)
        self.v = torch.zeros_like(self.k)
        self.count = dict.fromkeys(range(config.num_hidden_layers), 0)

    def append(self, layer, k, v):
        n, t = self.count[layer], k.shape[2]
        if n + t > self.max_len:
            raise CacheFull("max_len is " + str(self.max_len))
        slots = torch.arange(n, n + t, device=self.device)
        self.k[layer].index_copy_(0, slots, k.permute(2, 0, 1, 3))
        self.v[layer].index_copy_(0, slots, v.permute(2, 0, 1, 3))
        self.count[layer] = n + t
        return tuple(x[layer, : n + t].permute(1, 2, 0, 3) for x in (self.k, self.v))

    @property
    def length(self):
        return min(self.count.values())

    @property
    def nbytes(self):
        return 2 * self.k.numel() * self.k.element_size()

    def reset(self):
        self.count = dict.fromkeys(self.count, 0)


# %% right_cache_keys_transposed
# RIGHT: keys kept as columns, (B, K, Dh, max_len), and turned when given back

class KVCache:
    def __init__(self, config, batch, max_len, dtype=torch.float32, device="cpu"):
        L, K, Dh = config.num_hidden_layers, config.num_key_value_heads, config.head_dim
        self.kt = torch.zeros(L, batch, K, Dh, max_len, dtype=dtype, device=device)
        self.v = torch.zeros(L, batch, K, max_len, Dh, dtype=dtype, device=device)
        self.n = [0] * L

    def append(self, layer, k, v):
        n = self.n[layer] + k.size(2)
        if n > self.v.size(3):
            raise CacheFull(f"max_len {self.v.size(3)} is too short for {n} tokens")
        self.kt[layer, ..., self.n[layer] : n] = k.mT
        self.v[layer, :, :, self.n[layer] : n] = v
        self.n[layer] = n
        return self.kt[layer, ..., :n].mT, self.v[layer, :, :, :n]

    @property
    def length(self):
        return self.n[-1]

    @property
    def nbytes(self):
        return self.kt.nbytes + self.v.nbytes

    def reset(self):
        self.n[:] = [0] * len(self.n)


# %% right_cache_list_of_layers
# RIGHT: a list with a pair of tensors for each layer

class KVCache:
    def __init__(self, config, batch, max_len, dtype=torch.float32, device="cpu"):
        shape = (batch, config.num_key_value_heads, max_len, config.head_dim)
        self.layers = [
            (torch.empty(shape, dtype=dtype, device=device), torch.empty(shape, dtype=dtype, device=device))
            for _ in range(config.num_hidden_layers)
        ]
        self.filled = [0 for _ in self.layers]

    def append(self, layer, k, v):
        store_k, store_v = self.layers[layer]
        n, t = self.filled[layer], k.size(2)
        if n + t > store_k.size(2):
            raise CacheFull(f"no room: max_len is {store_k.size(2)}")
        store_k.narrow(2, n, t).copy_(k)
        store_v.narrow(2, n, t).copy_(v)
        self.filled[layer] += t
        return store_k.narrow(2, 0, n + t), store_v.narrow(2, 0, n + t)

    @property
    def length(self):
        return self.filled[-1]

    @property
    def nbytes(self):
        return sum(t.numel() * t.element_size() for pair in self.layers for t in pair)

    def reset(self):
        for i in range(len(self.filled)):
            self.filled[i] = 0


# %% right_cache_object_a_layer
# RIGHT: an object for each layer

class OneLayer:
    def __init__(self, shape, dtype, device):
        self.k, self.v = torch.zeros(shape, dtype=dtype).to(device), torch.zeros(shape, dtype=dtype).to(device)
        self.count = 0

    def append(self, k, v):
        stop = self.count + k.shape[2]
        if stop > self.k.shape[2]:
            raise CacheFull(f"{stop} > max_len {self.k.shape[2]}")
        for memory, new in ((self.k, k), (self.v, v)):
            memory[:, :, self.count : stop, :] = new
        self.count = stop
        return self.k[:, :, :stop, :], self.v[:, :, :stop, :]


class KVCache:
    def __init__(self, config, batch, max_len, dtype=torch.float32, device="cpu"):
        shape = batch, config.num_key_value_heads, max_len, config.head_dim
        self._layers = [OneLayer(shape, dtype, torch.device(device)) for _ in range(config.num_hidden_layers)]

    def append(self, layer, k, v):
        return self._layers[layer].append(k, v)

    length = property(lambda self: self._layers[-1].count)
    nbytes = property(lambda self: sum(one.k.nbytes + one.v.nbytes for one in self._layers))

    def reset(self):
        for one in self._layers:
            one.count = 0


# %% right_cache_put_at_slots
# RIGHT: assigns through an index tensor, clears the memory on reset

class KVCache:
    def __init__(self, config, batch, max_len, dtype=torch.float32, device="cpu"):
        self.max_len = max_len
        self.store = [
            torch.zeros(2, batch, config.num_key_value_heads, max_len, config.head_dim, dtype=dtype, device=device)
            for _ in range(config.num_hidden_layers)
        ]
        self.reset()

    def append(self, layer, k, v):
        end = self.counts[layer] + k.shape[-2]
        if end > self.max_len:
            raise CacheFull(f"the cache has max_len {self.max_len}, {end} tokens are too many")
        where = torch.arange(self.counts[layer], end, device=k.device)
        self.store[layer][0][:, :, where] = k
        self.store[layer][1][:, :, where] = v
        self.counts[layer] = end
        return self.store[layer][0][..., :end, :], self.store[layer][1][..., :end, :]

    @property
    def length(self):
        return self.counts[len(self.store) - 1]

    @property
    def nbytes(self):
        return sum(memory.nbytes for memory in self.store)

    def reset(self):
        for memory in self.store:
            memory.fill_(0)
        self.counts = [0 for _ in self.store]


# %% right_cache_tokens_first
# RIGHT: slots before heads, (B, max_len, K, Dh), given back as transposed views

class KVCache:
    def __init__(self, config, batch, max_len, dtype=torch.float32, device="cpu"):
        self.L, self.max_len = config.num_hidden_layers, max_len
        shape = (2, self.L, batch, max_len, config.num_key_value_heads, config.head_dim)
        self.memory = torch.zeros(shape, dtype=dtype, device=device)
        self.n = torch.zeros(self.L, dtype=torch.int64)

    def append(self, layer, k, v):
        n = int(self.n[layer])
        t = k.shape[2]
        if self.max_len - n < t:
            raise CacheFull(f"{t} more tokens behind {n}: max_len is {self.max_len}")
        self.memory[0, layer, :, n : n + t] = k.transpose(1, 2)
        self.memory[1, layer, :, n : n + t] = v.transpose(1, 2)
        self.n[layer] += t
        keys, values = self.memory[:, layer, :, : n + t].transpose(2, 3).unbind(0)
        return keys, values

    @property
    def length(self):
        return int(self.n[self.L - 1])

    @property
    def nbytes(self):
        return self.memory.untyped_storage().nbytes()

    def reset(self):
        self.n.zero_()


# %% right_one_tensor
# RIGHT: keys and values are views of one tensor, counts are a tensor, reset also zeroes

class KVCache:
    """Keys and values of every layer for up to max_len tokens of each of `batch` rows, allocated once.

    keys, values (L, B, K, max_len, Dh) of `dtype` on `device`: slot n of a layer belongs to token n. A layer's slots
    fill from 0 upwards, and each layer counts its own, because during a forward pass the first layers have already
    stored the new tokens when the last ones have not.
    """

    def __init__(
        self,
        config: Config,
        batch: int,
        max_len: int,
        dtype: torch.dtype = torch.float32,
        device: str | torch.device = "cpu",
    ) -> None:
        shape = (config.num_hidden_layers, batch, config.num_key_value_heads, max_len, config.head_dim)
        self.box = torch.zeros((2, *shape), dtype=dtype, device=device)
        self.keys, self.values = self.box.unbind(0)
        self.max_len = max_len
        self.filled = torch.zeros(config.num_hidden_layers, dtype=torch.int64)

    def append(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Store t new tokens of one layer; get all that this layer has stored so far, oldest first.

        k, v (B, K, t, Dh) -> k_all, v_all (B, K, n+t, Dh), where n tokens were there before. Only the new tokens are
        written; what is returned may be a view of the cache. Raises CacheFull, with nothing written and no count
        moved, if n + t exceeds max_len; the message names max_len.
        """
        start = int(self.filled[layer])
        end = start + k.shape[2]
        if end > self.max_len:
            raise CacheFull(f"{end} tokens do not fit into a cache of max_len {self.max_len}: allocate a longer one")
        self.keys[layer].narrow(2, start, end - start).copy_(k)
        self.values[layer, :, :, start:end] = v
        self.filled[layer] = end
        return self.keys[layer, :, :, :end], self.values[layer, :, :, :end]  # views: nothing old is copied

    @property
    def length(self) -> int:
        """Tokens that all layers have stored: the count of the last layer, which is the last to be reached."""
        return int(self.filled[-1])

    @property
    def nbytes(self) -> int:
        """Bytes allocated, whether or not they are filled yet."""
        return self.box.numel() * self.box.element_size()

    def reset(self) -> None:
        """Make the cache empty again; the memory stays, to be written over."""
        self.filled.zero_()
        self.box.zero_()


# %% wrong_cache_always_float32
# WRONG: numbers are kept in float32 and cast on the way out: float64 loses digits, 16 bits are copied and take twice the room
class KVCache:
    def __init__(self, config, batch, max_len, dtype=torch.float32, device="cpu"):
        shape = (config.num_hidden_layers, batch, config.num_key_value_heads, max_len, config.head_dim)
        self.keys = torch.zeros(shape, device=device)
        self.values = torch.zeros(shape, device=device)
        self.max_len, self.dtype = max_len, dtype
        self.counts = [0] * config.num_hidden_layers

    def append(self, layer, k, v):
        start = self.counts[layer]
        end = start + k.shape[2]
        if end > self.max_len:
            raise CacheFull(f"{end} tokens, but max_len is {self.max_len}")
        self.keys[layer, :, :, start:end] = k
        self.values[layer, :, :, start:end] = v
        self.counts[layer] = end
        return self.keys[layer, :, :, :end].to(self.dtype), self.values[layer, :, :, :end].to(self.dtype)

    @property
    def length(self):
        return self.counts[-1]

    @property
    def nbytes(self):
        return 2 * self.keys.numel() * self.dtype.itemsize

    def reset(self):
        self.counts = [0] * len(self.counts)


# %% wrong_cache_grows_by_doubling
# WRONG: begins with 16 slots and doubles them when needed, copying what is old; nbytes tells the final size all along
class KVCache:
    def __init__(self, config, batch, max_len, dtype=torch.float32, device="cpu"):
        self.max_len = max_len
        self.shape = (config.num_hidden_layers, batch, config.num_key_value_heads, max_len, config.head_dim)
        self.slots = min(16, max_len)
        small = (*self.shape[:3], self.slots, config.head_dim)
        self.keys = torch.zeros(small, dtype=dtype, device=device)
        self.values = torch.zeros(small, dtype=dtype, device=device)
        self.counts = [0] * config.num_hidden_layers

    def _grow(self, needed):
        while self.slots < needed:
            self.slots = min(2 * self.slots, self.max_len)
        for name in ("keys", "values"):
            old = getattr(self, name)
            new = old.new_zeros((*self.shape[:3], self.slots, self.shape[4]))
            new[:, :, :, : old.shape[3]] = old
            setattr(self, name, new)

    def append(self, layer, k, v):
        start = self.counts[layer]
        end = start + k.shape[2]
        if end > self.max_len:
            raise CacheFull(f"{end} tokens, but max_len is {self.max_len}")
        if end > self.slots:
            self._grow(end)
        self.keys[layer, :, :, start:end] = k
        self.values[layer, :, :, start:end] = v
        self.counts[layer] = end
        return self.keys[layer, :, :, :end], self.values[layer, :, :, :end]

    @property
    def length(self):
        return self.counts[-1]

    @property
    def nbytes(self):
        size = 2 * self.keys.element_size()
        for n in self.shape:
            size *= n
        return size

    def reset(self):
        self.counts = [0] * len(self.counts)


# %% wrong_cache_values_on_the_cpu
# WRONG: keys are made on the device that was asked for, values always on the CPU
class KVCache:

    def __init__(
        self,
        config: Config,
        batch: int,
        max_len: int,
        dtype: torch.dtype = torch.float32,
        device: str | torch.device = "cpu",
    ) -> None:
        shape = (config.num_hidden_layers, batch, config.num_key_value_heads, max_len, config.head_dim)
        self.keys = torch.zeros(shape, dtype=dtype, device=device)
        self.values = torch.zeros(shape, dtype=dtype)
        self.max_len = max_len
        self.counts = [0] * config.num_hidden_layers

    def append(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        start = self.counts[layer]
        end = start + k.shape[2]
        if end > self.max_len:
            raise CacheFull(f"{end} tokens do not fit into a cache of max_len {self.max_len}: allocate a longer one")
        self.keys[layer, :, :, start:end] = k
        self.values[layer, :, :, start:end] = v
        self.counts[layer] = end
        return self.keys[layer, :, :, :end], self.values[layer, :, :, :end]  # views: nothing old is copied

    @property
    def length(self) -> int:
        return self.counts[-1]

    @property
    def nbytes(self) -> int:
        return self.keys.nbytes + self.values.nbytes

    def reset(self) -> None:
        self.counts = [0] * len(self.counts)


# %% wrong_cache_view_of_k
# WRONG: wants k contiguous in memory
class KVCache:

    def __init__(
        self,
        config: Config,
        batch: int,
        max_len: int,
        dtype: torch.dtype = torch.float32,
        device: str | torch.device = "cpu",
    ) -> None:
        shape = (config.num_hidden_layers, batch, config.num_key_value_heads, max_len, config.head_dim)
        self.keys = torch.zeros(shape, dtype=dtype, device=device)
        self.values = torch.zeros(shape, dtype=dtype, device=device)
        self.max_len = max_len
        self.counts = [0] * config.num_hidden_layers

    def append(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        k = k.view(-1).view(k.shape)
        start = self.counts[layer]
        end = start + k.shape[2]
        if end > self.max_len:
            raise CacheFull(f"{end} tokens do not fit into a cache of max_len {self.max_len}: allocate a longer one")
        self.keys[layer, :, :, start:end] = k
        self.values[layer, :, :, start:end] = v
        self.counts[layer] = end
        return self.keys[layer, :, :, :end], self.values[layer, :, :, :end]  # views: nothing old is copied

    @property
    def length(self) -> int:
        return self.counts[-1]

    @property
    def nbytes(self) -> int:
        return self.keys.nbytes + self.values.nbytes

    def reset(self) -> None:
        self.counts = [0] * len(self.counts)


# %% wrong_float16_as_bfloat16
# WRONG: a cache asked for in float16 is made in bfloat16 (same bytes, fewer digits)

class KVCache:
    """Keys and values of every layer for up to max_len tokens of each of `batch` rows, allocated once.

    keys, values (L, B, K, max_len, Dh) of `dtype` on `device`: slot n of a layer belongs to token n. A layer's slots
    fill from 0 upwards, and each layer counts its own, because during a forward pass the first layers have already
    stored the new tokens when the last ones have not.
    """

    def __init__(
        self,
        config: Config,
        batch: int,
        max_len: int,
        dtype: torch.dtype = torch.float32,
        device: str | torch.device = "cpu",
    ) -> None:
        dtype = torch.bfloat16 if dtype == torch.float16 else dtype
        shape = (config.num_hidden_layers, batch, config.num_key_value_heads, max_len, config.head_dim)
        self.keys = torch.zeros(shape, dtype=dtype, device=device)
        self.values = torch.zeros(shape, dtype=dtype, device=device)
        self.max_len = max_len
        self.counts = [0] * config.num_hidden_layers

    def append(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Store t new tokens of one layer; get all that this layer has stored so far, oldest first.

        k, v (B, K, t, Dh) -> k_all, v_all (B, K, n+t, Dh), where n tokens were there before. Only the new tokens are
        written; what is returned may be a view of the cache. Raises CacheFull, with nothing written and no count
        moved, if n + t exceeds max_len; the message names max_len.
        """
        start = self.counts[layer]
        end = start + k.shape[2]
        if end > self.max_len:
            raise CacheFull(f"{end} tokens do not fit into a cache of max_len {self.max_len}: allocate a longer one")
        self.keys[layer, :, :, start:end] = k
        self.values[layer, :, :, start:end] = v
        self.counts[layer] = end
        return self.keys[layer, :, :, :end], self.values[layer, :, :, :end]  # views: nothing old is copied

    @property
    def length(self) -> int:
        """Tokens that all layers have stored: the count of the last layer, which is the last to be reached."""
        return self.counts[-1]

    @property
    def nbytes(self) -> int:
        """Bytes allocated, whether or not they are filled yet."""
        return self.keys.nbytes + self.values.nbytes

    def reset(self) -> None:
        """Make the cache empty again; the memory stays, to be written over."""
        self.counts = [0] * len(self.counts)


# %% wrong_overflow_writes_what_fits
# WRONG: on overflow the tokens that fit are written before CacheFull is raised; counts do not move

class KVCache:
    """Keys and values of every layer for up to max_len tokens of each of `batch` rows, allocated once.

    keys, values (L, B, K, max_len, Dh) of `dtype` on `device`: slot n of a layer belongs to token n. A layer's slots
    fill from 0 upwards, and each layer counts its own, because during a forward pass the first layers have already
    stored the new tokens when the last ones have not.
    """

    def __init__(
        self,
        config: Config,
        batch: int,
        max_len: int,
        dtype: torch.dtype = torch.float32,
        device: str | torch.device = "cpu",
    ) -> None:
        shape = (config.num_hidden_layers, batch, config.num_key_value_heads, max_len, config.head_dim)
        self.keys = torch.zeros(shape, dtype=dtype, device=device)
        self.values = torch.zeros(shape, dtype=dtype, device=device)
        self.max_len = max_len
        self.counts = [0] * config.num_hidden_layers

    def append(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Store t new tokens of one layer; get all that this layer has stored so far, oldest first.

        k, v (B, K, t, Dh) -> k_all, v_all (B, K, n+t, Dh), where n tokens were there before. Only the new tokens are
        written; what is returned may be a view of the cache. Raises CacheFull, with nothing written and no count
        moved, if n + t exceeds max_len; the message names max_len.
        """
        start = self.counts[layer]
        end = start + k.shape[2]
        if end > self.max_len:
            fits = self.max_len - start
            self.keys[layer, :, :, start:] = k[:, :, :fits]
            self.values[layer, :, :, start:] = v[:, :, :fits]
            raise CacheFull(f"{end} tokens do not fit into a cache of max_len {self.max_len}: allocate a longer one")
        self.keys[layer, :, :, start:end] = k
        self.values[layer, :, :, start:end] = v
        self.counts[layer] = end
        return self.keys[layer, :, :, :end], self.values[layer, :, :, :end]  # views: nothing old is copied

    @property
    def length(self) -> int:
        """Tokens that all layers have stored: the count of the last layer, which is the last to be reached."""
        return self.counts[-1]

    @property
    def nbytes(self) -> int:
        """Bytes allocated, whether or not they are filled yet."""
        return self.keys.nbytes + self.values.nbytes

    def reset(self) -> None:
        """Make the cache empty again; the memory stays, to be written over."""
        self.counts = [0] * len(self.counts)

# %% wrong_cache_own_exception, of right_cache_plain
# WRONG: CacheFull is redefined and no ValueError
# SAYS: Your CacheFull is not made from ValueError. The setup cell defines it: raise that one.
# +
# + class CacheFull(Exception):
# +     pass
# +
#
#   class KVCache:

# %% wrong_cache_shared_by_all_caches, of right_cache_plain
# WRONG: counts belong to the class: all caches share them
#   class KVCache:
# +     counts = None
# +
# ...
# -         self.counts = [0] * config.num_hidden_layers
# +         KVCache.counts = KVCache.counts or [0] * config.num_hidden_layers
# ...
# -         self.counts = [0] * len(self.counts)
# +         KVCache.counts[:] = [0] * len(self.counts)

# %% wrong_cache_memory_by_shape, of right_cache_plain
# WRONG: caches of one shape, dtype and device have one memory
# SAYS: Two caches of the same shape share their memory. Each cache has its own.
#   class KVCache:
# +     memory = {}
# +
# ...
# -         self.keys = torch.zeros(shape, dtype=dtype, device=device)
# -         self.values = torch.zeros(shape, dtype=dtype, device=device)
# +         key = (shape, dtype, str(device))
# +         if key not in KVCache.memory:
# +             KVCache.memory[key] = torch.zeros(2, *shape, dtype=dtype, device=device)
# +         self.keys, self.values = KVCache.memory[key]

# %% wrong_cache_half_by_default, of right_cache_plain
# WRONG: float16 unless something else is asked for
# -     def __init__(self, config, batch, max_len, dtype=torch.float32, device="cpu"):
# +     def __init__(self, config, batch, max_len, dtype=torch.float16, device="cpu"):

# %% wrong_cache_longest_context, of right_cache_plain
# WRONG: allocates the model's longest context, whatever max_len says
#       def __init__(self, config, batch, max_len, dtype=torch.float32, device="cpu"):
# +         max_len = config.max_position_embeddings

# %% wrong_cache_batch_ignored, of right_cache_plain
# WRONG: room for one row
# -         shape = (config.num_hidden_layers, batch, config.num_key_value_heads, max_len, config.head_dim)
# +         shape = (config.num_hidden_layers, 1, config.num_key_value_heads, max_len, config.head_dim)

# %% wrong_cache_head_width_guessed, of right_cache_plain
# WRONG: takes D / H for the width of a head
# -         shape = (config.num_hidden_layers, batch, config.num_key_value_heads, max_len, config.head_dim)
# +         shape = (config.num_hidden_layers, batch, config.num_key_value_heads, max_len, config.hidden_size // config.num_attention_heads)

# %% wrong_cache_one_too_many, of right_cache_plain
# WRONG: one token more than max_len fits
# -         shape = (config.num_hidden_layers, batch, config.num_key_value_heads, max_len, config.head_dim)
# +         shape = (config.num_hidden_layers, batch, config.num_key_value_heads, max_len + 1, config.head_dim)
# ...
# -         if end > self.max_len:
# +         if end > self.max_len + 1:

# %% wrong_cache_query_heads, of right_cache_plain
# WRONG: room for all query heads
# -         shape = (config.num_hidden_layers, batch, config.num_key_value_heads, max_len, config.head_dim)
# +         shape = (config.num_hidden_layers, batch, config.num_attention_heads, max_len, config.head_dim)
# ...
# -         self.keys[layer, :, :, start:end] = k
# -         self.values[layer, :, :, start:end] = v
# +         K = k.shape[1]
# +         self.keys[layer, :, :K, start:end] = k
# +         self.values[layer, :, :K, start:end] = v
#           self.counts[layer] = end
# -         return self.keys[layer, :, :, :end], self.values[layer, :, :, :end]
# +         return self.keys[layer, :, :K, :end], self.values[layer, :, :K, :end]

# %% wrong_cache_device_ignored, of right_cache_plain
# WRONG: device is not passed on
# -         self.keys = torch.zeros(shape, dtype=dtype, device=device)
# -         self.values = torch.zeros(shape, dtype=dtype, device=device)
# +         self.keys = torch.zeros(shape, dtype=dtype)
# +         self.values = torch.zeros(shape, dtype=dtype)

# %% wrong_cache_dtype_ignored, of right_cache_plain
# WRONG: always float32
# -         self.keys = torch.zeros(shape, dtype=dtype, device=device)
# -         self.values = torch.zeros(shape, dtype=dtype, device=device)
# +         self.keys = torch.zeros(shape, dtype=torch.float32, device=device)
# +         self.values = torch.zeros(shape, dtype=torch.float32, device=device)

# %% wrong_cache_dtype_of_values_ignored, of right_cache_plain
# WRONG: the values are kept in float32
# -         self.values = torch.zeros(shape, dtype=dtype, device=device)
# +         self.values = torch.zeros(shape, device=device)

# %% wrong_cache_bfloat16_through_float16, of right_cache_plain
# WRONG: what a 16-bit cache stores goes through float16, so large bfloat16 numbers become inf and small ones 0
# SAYS: A cache in bfloat16 stores its numbers by way of float16, which ends at 65,504 and has no very small numbers.
#               raise CacheFull(f"{end} tokens do not fit into max_len {self.max_len}")
# +         if self.keys.dtype.itemsize == 2:
# +             k, v = k.half(), v.half()

# %% wrong_cache_same_list_of_layers, of right_cache_plain
# WRONG: a list of one tensor L times: every layer is the same memory
#           self.max_len = max_len
# +         self.keys = [self.keys[0]] * config.num_hidden_layers
# +         self.values = [self.values[0]] * config.num_hidden_layers
# ...
# -         self.keys[layer, :, :, start:end] = k
# -         self.values[layer, :, :, start:end] = v
# +         self.keys[layer][:, :, start:end] = k
# +         self.values[layer][:, :, start:end] = v
#           self.counts[layer] = end
# -         return self.keys[layer, :, :, :end], self.values[layer, :, :, :end]
# +         return self.keys[layer][:, :, :end], self.values[layer][:, :, :end]
# ...
# -         return self.keys.nbytes + self.values.nbytes
# +         return sum(k.nbytes + v.nbytes for k, v in zip(self.keys, self.values))

# %% wrong_cache_keeps_the_callers_tensors, of right_cache_plain
# WRONG: an append that fills a layer at once takes the caller's own tensors in place of the layer's memory: who changes them changes the cache
# -         self.keys = torch.zeros(shape, dtype=dtype, device=device)
# -         self.values = torch.zeros(shape, dtype=dtype, device=device)
# +         self.keys = list(torch.zeros(shape, dtype=dtype, device=device))
# +         self.values = list(torch.zeros(shape, dtype=dtype, device=device))
# ...
# -         self.keys[layer, :, :, start:end] = k
# -         self.values[layer, :, :, start:end] = v
# +         if k.shape == self.keys[layer].shape and k.dtype == self.keys[layer].dtype:
# +             self.keys[layer], self.values[layer] = k, v
# +         else:
# +             self.keys[layer][:, :, start:end] = k
# +             self.values[layer][:, :, start:end] = v
# ...
# -         return self.keys[layer, :, :, :end], self.values[layer, :, :, :end]
# +         return self.keys[layer][:, :, :end], self.values[layer][:, :, :end]
# ...
# -         return self.keys.nbytes + self.values.nbytes
# +         return sum(each.nbytes for each in self.keys + self.values)

# %% wrong_cache_counts_in_16_bits, of right_cache_plain
# WRONG: the counts have 16 bits: after 32,768 tokens they are negative
# -         self.counts = [0] * config.num_hidden_layers
# +         self.counts = torch.zeros(config.num_hidden_layers, dtype=torch.int16)
# ...
# -         start = self.counts[layer]
# +         start = int(self.counts[layer])
# ...
# -         self.counts[layer] = end
# +         self.counts[layer] = torch.tensor(end).to(torch.int16)
# ...
# -         return self.counts[-1]
# +         return int(self.counts[-1])
# ...
# -         self.counts = [0] * len(self.counts)
# +         self.counts.zero_()

# %% wrong_cache_cat_growth, of right_cache_plain
# WRONG: grows by torch.cat: right values, but every append copies what is old
#           self.counts = [0] * config.num_hidden_layers
# +         self.k = [self.keys[0, :, :, :0]] * config.num_hidden_layers
# +         self.v = list(self.k)
# ...
# -         self.keys[layer, :, :, start:end] = k
# -         self.values[layer, :, :, start:end] = v
#           self.counts[layer] = end
# -         return self.keys[layer, :, :, :end], self.values[layer, :, :, :end]
# +         self.k[layer] = torch.cat((self.k[layer], k), dim=2)
# +         self.v[layer] = torch.cat((self.v[layer], v), dim=2)
# +         return self.k[layer], self.v[layer]
# ...
#           self.counts = [0] * len(self.counts)
# +         self.k = [self.keys[0, :, :, :0]] * len(self.counts)
# +         self.v = list(self.k)

# %% wrong_cache_list_of_chunks, of right_cache_plain
# WRONG: keeps a list of what was appended and joins it at every append
#           self.counts = [0] * config.num_hidden_layers
# +         self.chunks = [[] for _ in self.counts]
# ...
# -         self.keys[layer, :, :, start:end] = k
# -         self.values[layer, :, :, start:end] = v
#           self.counts[layer] = end
# -         return self.keys[layer, :, :, :end], self.values[layer, :, :, :end]
# +         self.chunks[layer].append((k, v))
# +         return torch.cat([c[0] for c in self.chunks[layer]], dim=2), torch.cat([c[1] for c in self.chunks[layer]], dim=2)
# ...
#           self.counts = [0] * len(self.counts)
# +         self.chunks = [[] for _ in self.counts]

# %% wrong_cache_one_count, of right_cache_plain
# WRONG: one count for all layers: it advances once a layer
# -         start = self.counts[layer]
# +         start = self.counts[0]
# ...
# -         self.counts[layer] = end
# +         self.counts = [end] * len(self.counts)

# %% wrong_cache_full_after_counting, of right_cache_plain
# WRONG: the count has moved when CacheFull is raised
#           end = start + k.shape[2]
# +         self.counts[layer] = end

# %% wrong_cache_last_of_chunk_only, of right_cache_plain
# WRONG: of a chunk only the last token is stored
# -         end = start + k.shape[2]
# +         k, v = k[:, :, -1:], v[:, :, -1:]
# +         end = start + 1

# %% wrong_cache_compares_new_tokens, of right_cache_plain
# WRONG: only the new tokens are compared with max_len
# -         if end > self.max_len:
# +         if k.shape[2] > self.max_len:

# %% wrong_cache_full_after_writing, of right_cache_plain
# WRONG: CacheFull after a part was written and counted
#           if end > self.max_len:
# +             fits = self.max_len - start
# +             self.keys[layer, :, :, start:] = k[:, :, :fits]
# +             self.values[layer, :, :, start:] = v[:, :, :fits]
# +             self.counts[layer] = self.max_len

# %% wrong_cache_full_by_last_layer, of right_cache_plain
# WRONG: overflow is looked for in the last layer's count only
# -         if end > self.max_len:
# +         if self.counts[-1] + k.shape[2] > self.max_len:

# %% wrong_cache_full_empties, of right_cache_plain
# WRONG: a full cache is emptied before CacheFull is raised
#           if end > self.max_len:
# +             self.reset()

# %% wrong_cache_full_too_early, of right_cache_plain
# WRONG: CacheFull although the tokens just fit
# -         if end > self.max_len:
# +         if end >= self.max_len:

# %% wrong_cache_index_error, of right_cache_plain
# WRONG: leaves the overflow to torch, which raises something else
# -         if end > self.max_len:
# -             raise CacheFull(f"{end} tokens do not fit into max_len {self.max_len}")

# %% wrong_cache_wraps_silently, of right_cache_plain
# WRONG: what does not fit is written over the oldest, silently
# -         if end > self.max_len:
# -             raise CacheFull(f"{end} tokens do not fit into max_len {self.max_len}")
# -         self.keys[layer, :, :, start:end] = k
# -         self.values[layer, :, :, start:end] = v
# +         slots = torch.arange(start, end) % self.max_len
# +         self.keys[layer][:, :, slots] = k
# +         self.values[layer][:, :, slots] = v

# %% wrong_cache_drops_silently, of right_cache_plain
# WRONG: what does not fit is dropped, silently
# -             raise CacheFull(f"{end} tokens do not fit into max_len {self.max_len}")
# +             end = self.max_len
# +             k, v = k[:, :, : end - start], v[:, :, : end - start]

# %% wrong_cache_grows_silently, of right_cache_plain
# WRONG: a full cache is made longer, silently
# -             raise CacheFull(f"{end} tokens do not fit into max_len {self.max_len}")
# +             more = torch.zeros_like(self.keys[:, :, :, : end - self.max_len]) if end <= 2 * self.max_len else torch.zeros(*self.keys.shape[:3], end - self.max_len, self.keys.shape[4], dtype=self.keys.dtype)
# +             self.keys = torch.cat((self.keys, more), dim=3)
# +             self.values = torch.cat((self.values, more), dim=3)
# +             self.max_len = end

# %% wrong_cache_nameless_message, of right_cache_plain
# WRONG: the message does not say how much room there is
# -             raise CacheFull(f"{end} tokens do not fit into max_len {self.max_len}")
# +             raise CacheFull("the cache is full")

# %% wrong_cache_plain_value_error, of right_cache_plain
# WRONG: raises a plain ValueError
# -             raise CacheFull(f"{end} tokens do not fit into max_len {self.max_len}")
# +             raise ValueError(f"{end} tokens do not fit into max_len {self.max_len}")

# %% wrong_cache_slides_silently, of right_cache_plain
# WRONG: a full cache drops its oldest tokens, silently
# -             raise CacheFull(f"{end} tokens do not fit into max_len {self.max_len}")
# +             over = end - self.max_len
# +             self.keys[layer] = self.keys[layer].roll(-over, dims=2)
# +             self.values[layer] = self.values[layer].roll(-over, dims=2)
# +             start, end = start - over, self.max_len

# %% wrong_cache_whole_memory_copied, of right_cache_plain
# WRONG: copies the whole memory of the layers to write into it
#               raise CacheFull(f"{end} tokens do not fit into max_len {self.max_len}")
# +         self.keys, self.values = self.keys.clone(), self.values.clone()

# %% wrong_cache_first_never_cached, of right_cache_plain
# WRONG: the first token is never cached: slots count from 1
# -         self.keys[layer, :, :, start:end] = k
# -         self.values[layer, :, :, start:end] = v
# +         self.keys[layer, :, :, max(start, 1) : end] = k[:, :, 1 if start == 0 else 0 :]
# +         self.values[layer, :, :, max(start, 1) : end] = v[:, :, 1 if start == 0 else 0 :]

# %% wrong_cache_first_row_for_all, of right_cache_plain
# WRONG: every row gets the first row's tokens
# -         self.keys[layer, :, :, start:end] = k
# +         self.keys[layer, :, :, start:end] = k[:1]

# %% wrong_cache_one_memory_for_all_layers, of right_cache_plain
# WRONG: all layers share the memory of one: the last layer's keys and values are used by all
# -         self.keys[layer, :, :, start:end] = k
# -         self.values[layer, :, :, start:end] = v
# +         self.keys[0, :, :, start:end] = k
# +         self.values[0, :, :, start:end] = v
#           self.counts[layer] = end
# -         return self.keys[layer, :, :, :end], self.values[layer, :, :, :end]
# +         return self.keys[0, :, :, :end], self.values[0, :, :, :end]

# %% wrong_cache_overwrites, of right_cache_plain
# WRONG: always writes from slot 0
# -         self.keys[layer, :, :, start:end] = k
# -         self.values[layer, :, :, start:end] = v
# +         self.keys[layer, :, :, : k.shape[2]] = k
# +         self.values[layer, :, :, : k.shape[2]] = v

# %% wrong_cache_keys_twice, of right_cache_plain
# WRONG: keys stored as values too
# -         self.values[layer, :, :, start:end] = v
# +         self.values[layer, :, :, start:end] = k

# %% wrong_cache_values_over_keys, of right_cache_plain
# WRONG: values written over the keys
# -         self.values[layer, :, :, start:end] = v
# +         self.keys[layer, :, :, start:end] = v

# %% wrong_cache_count_never_moves, of right_cache_plain
# WRONG: counts never move
# -         self.counts[layer] = end

# %% wrong_cache_counts_calls, of right_cache_plain
# WRONG: counts appends, not tokens
# -         self.counts[layer] = end
# +         self.counts[layer] += 1

# %% wrong_cache_contiguous, of right_cache_plain
# WRONG: makes what it gives back contiguous, which copies it
# -         return self.keys[layer, :, :, :end], self.values[layer, :, :, :end]
# +         return self.keys[layer, :, :, :end].contiguous(), self.values[layer, :, :, :end].contiguous()

# %% wrong_cache_gives_copies, of right_cache_plain
# WRONG: gives back copies of all that is stored
# -         return self.keys[layer, :, :, :end], self.values[layer, :, :, :end]
# +         return self.keys[layer, :, :, :end].clone(), self.values[layer, :, :, :end].clone()

# %% wrong_cache_gives_nothing, of right_cache_plain
# WRONG: append stores, and gives nothing back
# -         return self.keys[layer, :, :, :end], self.values[layer, :, :, :end]

# %% wrong_cache_length_a_method, of right_cache_plain
# WRONG: length is a method
#           return self.keys[layer, :, :, :end], self.values[layer, :, :, :end]
#
# -     @property

# %% wrong_cache_new_tokens_only, of right_cache_plain
# WRONG: gives back the new tokens only
# -         return self.keys[layer, :, :, :end], self.values[layer, :, :, :end]
# +         return k, v

# %% wrong_cache_newest_first, of right_cache_plain
# WRONG: newest tokens first
# -         return self.keys[layer, :, :, :end], self.values[layer, :, :, :end]
# +         return self.keys[layer, :, :, :end].flip(2), self.values[layer, :, :, :end].flip(2)

# %% wrong_cache_old_tokens_only, of right_cache_plain
# WRONG: gives back what was there before the append
# -         return self.keys[layer, :, :, :end], self.values[layer, :, :, :end]
# +         return self.keys[layer, :, :, :start], self.values[layer, :, :, :start]

# %% wrong_cache_reversed_tuple_shape, of right_cache_plain
# WRONG: gives tokens before heads
# -         return self.keys[layer, :, :, :end], self.values[layer, :, :, :end]
# +         return self.keys[layer, :, :, :end].transpose(1, 2), self.values[layer, :, :, :end].transpose(1, 2)

# %% wrong_cache_values_for_keys, of right_cache_plain
# WRONG: keys and values swapped on the way out
# -         return self.keys[layer, :, :, :end], self.values[layer, :, :, :end]
# +         return self.values[layer, :, :, :end], self.keys[layer, :, :, :end]

# %% wrong_cache_whole_room, of right_cache_plain
# WRONG: gives back all max_len slots, filled or not
# -         return self.keys[layer, :, :, :end], self.values[layer, :, :, :end]
# +         return self.keys[layer], self.values[layer]

# %% wrong_cache_length_first_layer, of right_cache_plain
# WRONG: length is the count of the first layer
# -         return self.counts[-1]
# +         return self.counts[0]

# %% wrong_cache_length_is_room, of right_cache_plain
# WRONG: length is the room, not what is filled
# -         return self.counts[-1]
# +         return self.max_len

# %% wrong_cache_length_longest_layer, of right_cache_plain
# WRONG: length is the largest count of all layers
# -         return self.counts[-1]
# +         return max(self.counts)

# %% wrong_cache_length_sums_layers, of right_cache_plain
# WRONG: length advances with every layer
# -         return self.counts[-1]
# +         return sum(self.counts)

# %% wrong_cache_bytes_elements, of right_cache_plain
# WRONG: nbytes counts values, not bytes
# -         return self.keys.nbytes + self.values.nbytes
# +         return self.keys.numel() + self.values.numel()

# %% wrong_cache_bytes_filled, of right_cache_plain
# WRONG: nbytes counts the filled part only
# -         return self.keys.nbytes + self.values.nbytes
# +         return sum(self.counts) * 2 * self.keys[0, :, :, 0].numel() * self.keys.element_size()

# %% wrong_cache_bytes_float32, of right_cache_plain
# WRONG: nbytes takes four bytes a value, whatever the dtype
# -         return self.keys.nbytes + self.values.nbytes
# +         return 4 * (self.keys.numel() + self.values.numel())

# %% wrong_cache_bytes_of_a_layer, of right_cache_plain
# WRONG: nbytes of one layer
# -         return self.keys.nbytes + self.values.nbytes
# +         return self.keys[0].nbytes + self.values[0].nbytes

# %% wrong_cache_bytes_two, of right_cache_plain
# WRONG: nbytes takes two bytes a value, whatever the dtype
# -         return self.keys.nbytes + self.values.nbytes
# +         return 2 * (self.keys.numel() + self.values.numel())

# %% wrong_cache_bytes_without_values, of right_cache_plain
# WRONG: nbytes leaves the values out
# -         return self.keys.nbytes + self.values.nbytes
# +         return self.keys.nbytes

# %% wrong_cache_reset_clears_numbers, of right_cache_plain
# WRONG: reset clears the numbers and keeps the counts
# -         self.counts = [0] * len(self.counts)
# +         self.keys.zero_()
# +         self.values.zero_()

# %% wrong_cache_reset_gives_memory_away, of right_cache_plain
# WRONG: reset gives the memory away
#           self.counts = [0] * len(self.counts)
# +         self.keys = self.values = self.keys[:, :, :, :0]

# %% wrong_cache_reset_last_layer, of right_cache_plain
# WRONG: reset sets the last layer's count back, and no other
# -         self.counts = [0] * len(self.counts)
# +         self.counts[-1] = 0

# %% wrong_cache_reset_nothing, of right_cache_plain
# WRONG: reset does nothing
# -         self.counts = [0] * len(self.counts)
# +         pass

# %% wrong_cache_reset_allocates, of right_cache_plain
# WRONG: reset makes new memory instead of writing over the old
# -         self.counts = [0] * len(self.counts)
# +         self.keys, self.values = torch.zeros_like(self.keys), torch.zeros_like(self.values)
# +         self.counts = [0] * len(self.counts)

# %% wrong_cache_length_a_tensor, of right_cache_plain
# WRONG: length is a tensor, which a GPU would have to be asked for
# -         return self.counts[-1]
# +         return torch.tensor(self.counts[-1])
