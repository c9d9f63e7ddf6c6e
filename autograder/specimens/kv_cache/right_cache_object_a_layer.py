# exercise: KVCache
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
