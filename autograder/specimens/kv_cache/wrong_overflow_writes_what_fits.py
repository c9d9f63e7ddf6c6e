# exercise: KVCache
# WRONG: on overflow the tokens that fit are written before CacheFull is raised; counts do not move

class KVCache:
    """Keys and values of every layer for up to max_len tokens of each of `batch` rows, allocated once.

    keys, values (L, B, K, max_len, Dh) of `dtype` on `device`: slot n of a layer belongs to token n. A layer's slots
    fill from 0 upwards, and each layer counts its own, because during a forward pass the first layers have already
    stored the new tokens when the last ones have not.
    """

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
        """Store t new tokens of one layer; get all that this layer has stored so far, oldest first.

        k, v (B, K, t, Dh) -> k_all, v_all (B, K, n+t, Dh), where n tokens were there before. Only the new tokens are
        written; what is returned may be a view of the cache. Raises CacheFull, with nothing written and no count
        moved, if n + t exceeds max_len; the message names max_len.
        """
        start = self.counts[layer]
        end = start + k.shape[2]
        if end > self.max_len:
            fits = self.max_len - start
            self.keys[layer, :, :, start:] = k[:, :, :fits]
            self.values[layer, :, :, start:] = v[:, :, :fits]
            raise CacheFull(f"{end} tokens do not fit into a cache of max_len {self.max_len}: allocate a longer one")
        self.keys[layer, :, :, start:end] = k
        self.values[layer, :, :, start:end] = v
        self.counts[layer] = end
        return self.keys[layer, :, :, :end], self.values[layer, :, :, :end]  # views: nothing old is copied

    @property
    def length(self) -> int:
        """Tokens that all layers have stored: the count of the last layer, which is the last to be reached."""
        return self.counts[-1]

    @property
    def nbytes(self) -> int:
        """Bytes allocated, whether or not they are filled yet."""
        return self.keys.nbytes + self.values.nbytes

    def reset(self) -> None:
        """Make the cache empty again; the memory stays, to be written over."""
        self.counts = [0] * len(self.counts)
