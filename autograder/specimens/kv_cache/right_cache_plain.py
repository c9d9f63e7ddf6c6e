# exercise: KVCache
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
