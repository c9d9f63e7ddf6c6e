# exercise: KVCache
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
