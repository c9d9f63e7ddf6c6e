# exercise: KVCache
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
