# exercise: KVCache
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
