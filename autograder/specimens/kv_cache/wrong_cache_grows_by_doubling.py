# exercise: KVCache
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
