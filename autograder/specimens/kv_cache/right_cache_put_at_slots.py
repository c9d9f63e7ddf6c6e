# exercise: KVCache
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
