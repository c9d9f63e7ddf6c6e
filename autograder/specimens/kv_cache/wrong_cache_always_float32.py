# exercise: KVCache
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
