# exercise: forward_flops
# RIGHT: torch's own counter over products on the meta device
def forward_flops(config, t):
    c = config
    D, F, V, L = c.hidden_size, c.intermediate_size, c.vocab_size, c.num_hidden_layers
    H, K, Dh = c.num_attention_heads, c.num_key_value_heads, c.head_dim
    from torch.utils.flop_counter import FlopCounterMode
    def m(*s):
        return torch.empty(*s, device="meta")
    with FlopCounterMode(display=False) as counter:
        for _ in range(L):
            m(t, D) @ m(D, H * Dh), m(t, D) @ m(D, K * Dh), m(t, D) @ m(D, K * Dh)
            torch.bmm(m(H, t, Dh), m(H, Dh, t)), torch.bmm(m(H, t, t), m(H, t, Dh))
            m(t, H * Dh) @ m(H * Dh, D), m(t, D) @ m(D, F), m(t, D) @ m(D, F), m(t, F) @ m(F, D)
        m(t, D) @ m(D, V)
    return counter.get_total_flops()
