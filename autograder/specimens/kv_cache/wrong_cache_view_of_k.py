# exercise: KVCache
# WRONG: wants k to lie in memory as its shape says
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
