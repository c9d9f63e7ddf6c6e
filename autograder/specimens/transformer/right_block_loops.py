# exercise: decoder_block
# RIGHT: head by head and row by row, own rope by complex numbers from relative positions, mask from the positions
def _turned(x, positions, base):
    wide = torch.promote_types(x.dtype, torch.float32)
    half = x.shape[-1] // 2
    speeds = torch.exp(-torch.arange(half, dtype=wide, device=x.device) * 2 / x.shape[-1] * torch.log(torch.tensor(base, dtype=wide, device=x.device)))
    angles = positions.to(wide)[:, None] * speeds
    turned = torch.complex(x[:, :half].to(wide), x[:, half:].to(wide)) * torch.polar(torch.ones_like(angles), angles)
    return torch.cat((turned.real, turned.imag), dim=-1).to(x.dtype)


def decoder_block(x, layer, config, positions, attend=None):
    Dh, group = config.head_dim, config.num_attention_heads // config.num_key_value_heads
    rows, parts = [], [{} for _ in x]
    for b, row in enumerate(x):
        where = positions[b] if positions.dim() == 2 else positions
        allowed = where[None, :] <= where[:, None]
        relative = where - where[:1] if attend is None else where  # only distances count
        h = rms_norm(row, layer.input_layernorm, config.rms_norm_eps)
        update = torch.zeros_like(row)
        for head in range(config.num_attention_heads):
            mine, shared = slice(head * Dh, (head + 1) * Dh), slice(head // group * Dh, (head // group + 1) * Dh)
            q = _turned(h @ layer.q_proj[mine].T, relative, config.rope_theta)
            k = _turned(h @ layer.k_proj[shared].T, relative, config.rope_theta)
            v = h @ layer.v_proj[shared].T
            parts[b][head] = q, k, v
            scores = torch.where(allowed, q @ k.T / Dh**0.5, float("-inf"))
            update = update + (torch.softmax(scores, dim=-1) @ v) @ layer.o_proj[:, mine].T
        rows.append(row + update)
    y = torch.stack(rows)
    if attend is not None:
        heads = range(config.num_attention_heads)
        q, k, v = (torch.stack([torch.stack([part[h][i] for h in heads]) for part in parts]) for i in range(3))
        y = x + attend(q, k[:, ::group], v[:, ::group]).movedim(1, 2).flatten(2) @ layer.o_proj.T
    return y + feed_forward(rms_norm(y, layer.post_attention_layernorm, config.rms_norm_eps), layer.gate_proj, layer.up_proj, layer.down_proj)
