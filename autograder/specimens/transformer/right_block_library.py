# exercise: decoder_block
# RIGHT: torch's own operations, views in place of the day before's functions
import torch.nn.functional as F


def decoder_block(x, layer, config, positions, attend=None):
    B, T, D = x.shape
    H, K, Dh = config.num_attention_heads, config.num_key_value_heads, config.head_dim
    h = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
    q = F.linear(h, layer.q_proj).view(B, T, H, Dh).transpose(1, 2)
    k = F.linear(h, layer.k_proj).view(B, T, K, Dh).transpose(1, 2)
    v = F.linear(h, layer.v_proj).view(B, T, K, Dh).transpose(1, 2)
    q = rotary(q, positions, base=config.rope_theta)
    k = rotary(k, positions, base=config.rope_theta)
    causal = lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    a = (attend or causal)(q, k, v)
    x = x + F.linear(a.transpose(1, 2).reshape(B, T, H * Dh), layer.o_proj)
    h = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
    return x + feed_forward(h, layer.gate_proj, layer.up_proj, layer.down_proj)
