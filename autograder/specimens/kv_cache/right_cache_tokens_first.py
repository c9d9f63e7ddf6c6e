# exercise: KVCache
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
