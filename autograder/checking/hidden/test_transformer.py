"""Hidden checks for the decoder: fresh random models, edges and combinations."""

import torch
import torch.nn.functional as F

from autograder.authoring import checks, close, equal, that
from autograder.checking.checks.test_transformer import (
    block_with_reading,
    close_block,
    close_forward,
    hidden_states,
    kit_model,
    random_mask,
    reading,
    run_with_readings,
    small_config,
    small_layer,
    small_weights,
)
from autograder.checking.helpers.stages import block_stages
from course.kit import Config, LayerWeights, load_model

# --- rms_norm ---


@checks("rms_norm", weight=2)
def test_rms_norm_random(student, rng):
    """random shapes, weights and eps: the values are right"""
    for shape in [(2, 3, 8), (5,), (1, 1, 2, 16), (4, 1), (3, 5, 5), (2, 1, 2, 1, 4)]:
        x = torch.randn(shape, generator=rng)
        weight = torch.randn(shape[-1], generator=rng)
        for eps in (1e-6, 0.3):
            mean = x.double().pow(2).sum(-1, keepdim=True) / shape[-1]
            want = x.double() / (mean + eps) ** 0.5 * weight.double()
            close(
                student.rms_norm(x, weight, eps),
                want,
                atol=1e-5,
                what=f"wrong values for shape {shape} and eps {eps:g}",
            )


@checks("rms_norm")
def test_rms_norm_of_a_transposed_tensor(student, rng):
    """x transposed or expanded: the values are right, and no argument is changed"""
    weight = torch.randn(6, generator=rng)
    for x in (
        torch.randn(4, 2, 6, generator=rng).transpose(0, 1),
        torch.randn(6, 3, generator=rng).T,
        torch.randn(1, 6, generator=rng).expand(3, 6),
    ):
        close(student.rms_norm(x, weight, 1e-5, _unchanged=True), F.rms_norm(x, (6,), weight, 1e-5), atol=1e-5)


@checks("rms_norm")
def test_rms_norm_rows_of_any_size(student, rng):
    """a huge vector and a tiny vector in one batch: every vector is normed separately"""
    sizes = torch.tensor([1e6, 1.0, 1e-3])[:, None]
    x = torch.randn(3, 16, generator=rng) * sizes
    want = F.rms_norm(x.double(), (16,), None, 1e-12)
    close(student.rms_norm(x, torch.ones(16), 1e-12), want, atol=1e-4)


@checks("rms_norm")
def test_rms_norm_half_precision(student, rng):
    """bfloat16 and float16: the result is as exact as the dtype allows"""
    x = torch.randn(16, 64, generator=rng).to(torch.bfloat16)
    want = F.rms_norm(x.double(), (64,), None, 1e-5)
    close(
        student.rms_norm(x, torch.ones(64, dtype=torch.bfloat16), 1e-5),
        want,
        atol=1e-6,
        rtol=0.00415,
        dtype=torch.bfloat16,
    )
    zeros = torch.zeros(2, 64, dtype=torch.float16)
    close(student.rms_norm(zeros, torch.ones(64, dtype=torch.float16), 1e-8), zeros, atol=0.0, dtype=torch.float16)
    large = (500 * (1 + torch.rand(4, 64, generator=rng))).to(torch.float16)
    close(
        student.rms_norm(large, torch.ones(64, dtype=torch.float16), 1e-5),
        F.rms_norm(large.double(), (64,), None, 1e-5),
        atol=2e-3,
        dtype=torch.float16,
    )


@checks("rms_norm")
def test_rms_norm_without_eps(student, rng):
    """eps = 0 and tiny vectors: no other eps is used"""
    weight = torch.randn(8, generator=rng)
    for size in (1.0, 1e-3, 1e-6):
        x = size * torch.randn(2, 8, generator=rng)
        want = x.double() / x.double().square().mean(-1, keepdim=True).sqrt() * weight.double()
        close(student.rms_norm(x, weight, 0.0), want, atol=1e-5, what=f"wrong values with eps 0 for entries of about {size:g}")


@checks("rms_norm")
def test_rms_norm_again(student, rng):
    """two calls with different vectors and weights in the same memory: both results are right"""
    (x, y), (weight, other) = torch.randn(2, 3, 8, generator=rng), torch.randn(2, 8, generator=rng)
    first, second = student.rms_norm.again([x, weight, 1e-5], [y, other, 1e-5])
    close(first, F.rms_norm(x, (8,), weight, 1e-5), atol=1e-5, what="wrong values of the first call after a second call")
    close(second, F.rms_norm(y, (8,), other, 1e-5), atol=1e-5, what="wrong values when the same tensors hold other numbers")


# --- feed_forward ---


@checks("feed_forward", weight=2)
def test_feed_forward_random(student, rng):
    """random sizes, also F = D: the values are right"""
    for B, T, D, wide in [(2, 3, 5, 8), (1, 1, 4, 4), (3, 2, 6, 3), (1, 4, 1, 2), (1, 2, 5, 77)]:
        x = torch.randn(B, T, D, generator=rng)
        gate, up = (torch.randn(wide, D, generator=rng) for _ in range(2))
        down = torch.randn(D, wide, generator=rng)
        z = x.double() @ gate.double().T
        want = (z / (1 + torch.exp(-z)) * (x.double() @ up.double().T)) @ down.double().T
        close(
            student.feed_forward(x, gate, up, down),
            want,
            atol=1e-4,
            what=f"wrong values for B={B}, T={T}, D={D}, F={wide}",
        )


@checks("feed_forward")
def test_feed_forward_dtype(student, rng):
    """float64 and bfloat16: the result has the dtype of x, and no argument is changed"""
    for dtype, atol in ((torch.float64, 1e-9), (torch.bfloat16, 0.15)):
        x, gate, up, down = ((torch.randn(s, generator=rng) / 2).to(dtype) for s in [(2, 3, 4), (6, 4), (6, 4), (4, 6)])
        got = student.feed_forward(x, gate, up, down, _unchanged=True)
        x, gate, up, down = (t.double() for t in (x, gate, up, down))
        close(got, F.linear(F.silu(F.linear(x, gate)) * F.linear(x, up), down), atol=atol, rtol=0.05 if atol > 0.1 else 1e-9, dtype=dtype)


@checks("feed_forward")
def test_feed_forward_leaves_its_inputs(student, rng):
    """one token, several rows, square matrices or an expanded x: no argument is changed"""
    for B, T, D, wide in [(1, 1, 4, 6), (3, 1, 4, 4), (2, 3, 5, 5), (1, 2, 3, 330)]:
        gate, up, down = (torch.randn(shape, generator=rng) for shape in ((wide, D), (wide, D), (D, wide)))
        for x in (torch.randn(B, T, D, generator=rng), torch.randn(1, T, D, generator=rng).expand(B, T, D)):
            want = F.linear(F.silu(F.linear(x, gate)) * F.linear(x, up), down)
            close(
                student.feed_forward(x, gate, up, down, _unchanged=True),
                want,
                atol=1e-4,
                what=f"wrong values for B={B}, T={T}, D={D}, F={wide}",
            )


@checks("feed_forward")
def test_feed_forward_closed_gates(student, rng):
    """silu turns very negative gate values into 0 and keeps very large gate values, without overflow"""
    x = torch.rand(1, 2, 3, generator=rng) + 0.5
    up, down = torch.randn(4, 3, generator=rng), torch.randn(3, 4, generator=rng)
    for strength in (-80.0, 80.0):
        gate = torch.full((4, 3), strength)
        z = (x.double() @ gate.double().T).clamp(min=0)
        want = (z * (x.double() @ up.double().T)) @ down.double().T
        close(student.feed_forward(x, gate, up, down), want, atol=1e-2, rtol=1e-4, what=f"wrong values for gates of {strength:g}")


@checks("feed_forward")
def test_feed_forward_again(student, rng):
    """two calls with different tokens and matrices in the same memory: both results are right"""
    shapes = ((2, 3, 4), (6, 4), (6, 4), (4, 6))
    one, other = ([torch.randn(shape, generator=rng) for shape in shapes] for _ in range(2))
    messages = ("wrong values of the first call after a second call", "wrong values when the same tensors hold other numbers")
    for (x, gate, up, down), got, what in zip((one, other), student.feed_forward.again(one, other), messages, strict=True):
        close(got, F.linear(F.silu(F.linear(x, gate)) * F.linear(x, up), down), atol=1e-4, what=what)


# --- decoder_block ---


@checks("decoder_block", weight=2)
def test_block_random(student, rng):
    """random layers, head counts and positions: the values are right"""
    configs = [
        small_config(),
        small_config(num_attention_heads=6, num_key_value_heads=3, head_dim=2),
        small_config(num_attention_heads=12, num_key_value_heads=4, head_dim=2),
        small_config(num_attention_heads=3, num_key_value_heads=3, head_dim=4, rope_theta=10000.0),
        small_config(num_attention_heads=4, num_key_value_heads=1, head_dim=4, hidden_size=16, intermediate_size=16),
    ]
    for config in configs:
        layer = small_layer(rng, config)
        B, T = 2, _pick(rng, 2, 6)
        x = torch.randn(B, T, config.hidden_size, generator=rng)
        steps = torch.randint(1, 4, (B, T), generator=rng).cumsum(-1)
        sizes = f"H={config.num_attention_heads}, K={config.num_key_value_heads}, Dh={config.head_dim}, D={config.hidden_size}"
        for positions, title in ((torch.arange(T), "0, 1, 2, ..."), (steps[0], "with gaps"), (steps, "of its own for each row")):
            close_block(student, x, layer, config, positions, atol=1e-3, what=f"wrong values for {sizes} and positions {title}")


@checks("decoder_block")
def test_block_long_text(student, rng):
    """seventy tokens, and 1,100: the values are right, and the last token reads the first token"""
    config = small_config(max_position_embeddings=2048)
    layer = small_layer(rng, config)
    for T in (70, 1100):
        x = torch.randn(1, T, config.hidden_size, generator=rng)
        close(student.decoder_block(x, layer, config, torch.arange(T)), _block(x, layer, config, torch.arange(T)), atol=2e-3)


@checks("decoder_block")
def test_block_as_many_rows_as_tokens(student, rng):
    """positions (B, T) with B = T: every row has its own positions"""
    config = small_config()
    layer = small_layer(rng, config)
    x = torch.randn(3, 3, config.hidden_size, generator=rng)
    close_block(student, x, layer, config, torch.tensor([[0, 1, 2], [4, 6, 7], [5, 9, 20]]), atol=1e-3)


@checks("decoder_block")
def test_block_far_positions(student, rng):
    """positions in the thousands: the values are right"""
    config = small_config(max_position_embeddings=16_384)
    layer = small_layer(rng, config)
    x = torch.randn(2, 3, config.hidden_size, generator=rng)
    for positions in (torch.tensor([250, 257, 300]), torch.tensor([9000, 9001, 9300])):
        close_block(student, x, layer, config, positions, atol=5e-3)


@checks("decoder_block")
def test_block_far_positions_in_half_precision(student, rng):
    """positions in the thousands, x in bfloat16 or float16: the positions are not rounded to that dtype"""
    config = small_config(max_position_embeddings=16_384, head_dim=2, rope_theta=10_000.0)
    for dtype, atol in ((torch.bfloat16, 0.4), (torch.float16, 0.05)):
        layer = small_layer(rng, config, dtype)
        x = torch.randn(1, 4, config.hidden_size, generator=rng).to(dtype)
        for positions in (torch.tensor([257, 258, 259, 261]), torch.tensor([4097, 4098, 4099, 4101])):
            want = block_stages(x, layer, config, positions)[1]
            close(student.decoder_block(x, layer, config, positions), want, atol=atol, rtol=0.05, dtype=dtype)


@checks("decoder_block")
def test_block_never_looks_ahead_at_any_score(student, rng):
    """scores of tens of thousands: later tokens do not change earlier results"""
    config = small_config()
    layer = small_layer(rng, config)
    layer.q_proj, layer.k_proj = 300 * layer.q_proj, 300 * layer.k_proj
    x, positions = torch.randn(2, 6, config.hidden_size, generator=rng), torch.arange(6)
    before = student.decoder_block(x, layer, config, positions)
    x2 = x.clone()
    x2[:, 3:] = torch.randn(2, 3, config.hidden_size, generator=rng)
    after = student.decoder_block(x2, layer, config, positions)
    close(after[:, :3], before[:, :3], atol=1e-5, what="tokens 3 to 5 were changed, and results before them changed")
    close(before[:, :1], block_stages(x, layer, config, positions)[1][:, :1], atol=1e-3, what="wrong values of the first token")


@checks("decoder_block")
def test_block_again(student, rng):
    """two calls with different tokens and weights in the same layer object: both results are right"""
    config, positions = small_config(), torch.arange(3)
    layers, xs = [small_layer(rng, config) for _ in range(2)], torch.randn(2, 2, 3, config.hidden_size, generator=rng)
    here = [student.LayerWeights(**vars(layer)) for layer in layers]
    results = student.decoder_block.again(*([x, layer, config, positions] for x, layer in zip(xs, here, strict=True)))
    messages = ("wrong values of the first call after a second call", "other weights were put into the layer, and its result is wrong")
    for x, layer, got, what in zip(xs, layers, results, messages, strict=True):
        close(got, _block(x, layer, config, positions), atol=1e-4, what=what)


@checks("decoder_block")
def test_block_few_tokens_leave_their_input(student, rng):
    """one, two and three tokens, in one row or several: the values are right, and no argument is changed"""
    config = small_config()
    layer = small_layer(rng, config)
    for B, T in [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (3, 2)]:
        x = torch.randn(B, T, config.hidden_size, generator=rng)
        at = torch.arange(T)
        close(
            student.decoder_block(x, layer, config, at, _unchanged=True),
            _block(x, layer, config, at),
            atol=1e-3,
            what=f"wrong for B={B}, T={T}",
        )


@checks("decoder_block")
def test_block_of_a_transposed_tensor(student, rng):
    """x not contiguous, or one row expanded to three: the values are right, and no argument is changed"""
    config = small_config()
    layer = small_layer(rng, config)
    transposed = torch.randn(4, 2, config.hidden_size, generator=rng).transpose(0, 1)
    expanded = torch.randn(1, 4, config.hidden_size, generator=rng).expand(3, -1, -1)
    for x in (transposed, expanded):
        close(
            student.decoder_block(x, layer, config, torch.arange(4), _unchanged=True), _block(x, layer, config, torch.arange(4)), atol=1e-3
        )


@checks("decoder_block")
def test_block_one_token(student, rng):
    """a single token reads only itself: the result is the same at every position"""
    config = small_config()
    layer = small_layer(rng, config)
    x = torch.randn(3, 1, config.hidden_size, generator=rng)
    want = _block(x, layer, config, torch.tensor([0]))
    for position in (0, 1, 40):
        close(
            student.decoder_block(x, layer, config, torch.tensor([position])),
            want,
            atol=1e-4,
            what=f"wrong values for one token at position {position}",
        )


@checks("decoder_block")
def test_block_each_part(student, rng):
    """attention switched off, or feed-forward switched off: the values are right"""
    config = small_config()
    x, positions = torch.randn(2, 4, config.hidden_size, generator=rng), torch.tensor([1, 2, 4, 7])
    for part, off in (("attention", "down_proj"), ("feed-forward", "o_proj")):
        layer = small_layer(rng, config)
        setattr(layer, off, torch.zeros_like(getattr(layer, off)))
        close_block(student, x, layer, config, positions, atol=1e-3, what=f"wrong values with {part} alone")


@checks("decoder_block")
def test_block_norms(student, rng):
    """attention uses input_layernorm, feed-forward uses post_attention_layernorm, and eps is the config's"""
    config = small_config()
    layer = small_layer(rng, config)
    layer.input_layernorm = 3 * torch.rand(config.hidden_size, generator=rng)
    layer.post_attention_layernorm = -torch.rand(config.hidden_size, generator=rng)
    x = 0.3 * torch.randn(1, 4, config.hidden_size, generator=rng)
    for eps in (1e-5, 1.0):
        config = small_config(rms_norm_eps=eps)
        close_block(student, x, layer, config, torch.arange(4), atol=1e-3, what=f"wrong values with eps {eps:g}")


@checks("decoder_block")
def test_block_dtype(student, rng):
    """float64 and bfloat16: the result has the dtype of x, and no argument is changed"""
    config = small_config()
    for dtype, atol in ((torch.float64, 1e-4), (torch.bfloat16, 0.4)):
        layer = small_layer(rng, config, dtype)
        x = torch.randn(2, 3, config.hidden_size, generator=rng).to(dtype)
        got = student.decoder_block(x, layer, config, torch.arange(3), _unchanged=True)
        exact = LayerWeights(**{name: tensor.double() for name, tensor in vars(layer).items()})
        close(got, _block(x.double(), exact, config, torch.arange(3)), atol=atol, rtol=0.05 if atol > 0.1 else 1e-5, dtype=dtype)


@checks("decoder_block")
def test_block_attend_random(student, rng):
    """attend with one row or several, other head counts and widths, positions in any order: right q, k, v and result"""
    for changes in ({"num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 2}, {"head_dim": 10, "num_key_value_heads": 1}):
        for B, dtype in ((1, torch.float32), (3, torch.float64)):
            anywhere = torch.randint(0, 80, (B, _pick(rng, 3, 5)), generator=rng)
            for positions, by_token in ((anywhere, True), (anywhere[0], False)):
                block_with_reading(student, rng, small_config(**changes), positions, B=B, dtype=dtype, by_token=by_token)


# --- run_layers ---


@checks("run_layers")
def test_run_layers_random(student, rng):
    """one to four layers, other head counts and widths, positions in any order: the values are right"""
    for L, changes in (
        (1, {"num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 2}),
        (2, {"head_dim": 10, "num_key_value_heads": 1}),
        (4, {"num_attention_heads": 3, "num_key_value_heads": 3, "head_dim": 4}),
    ):
        config = small_config(num_hidden_layers=L, tie_word_embeddings=False, **changes)
        positions = torch.randint(0, 300, (2, 4), generator=rng)
        for at in (positions, positions[0]):
            run_with_readings(student, rng, config, positions=at)


@checks("run_layers")
def test_run_layers_of_any_shape(student, rng):
    """one token, one row, equal rows, every id, ids of a large vocabulary, transposed ids: the values are right"""
    config = small_config(tie_word_embeddings=False)
    every = torch.randperm(config.vocab_size, generator=rng)
    for ids in (every[:1, None], every[:3, None], every[None], every[:5].expand(3, 5).clone(), every[:6].view(2, 3).T):
        T = ids.shape[1]
        for positions in (torch.arange(2, T + 2), torch.randint(0, 50, ids.shape, generator=rng)):
            run_with_readings(student, rng, config, ids=ids, positions=positions)
    config = small_config(tie_word_embeddings=False, vocab_size=40_000, num_hidden_layers=1)
    run_with_readings(student, rng, config, ids=torch.randint(32_768, 40_000, (2, 3), generator=rng))


@checks("run_layers")
def test_run_layers_in_other_dtypes(student, rng):
    """float64, bfloat16 and float16: q, k, v and the result have the model's dtype, and positions are not rounded"""
    config = small_config(tie_word_embeddings=False, head_dim=2, rope_theta=10_000.0)
    for dtype, atol in ((torch.float64, 5e-3), (torch.bfloat16, 0.4), (torch.float16, 0.05)):
        run_with_readings(student, rng, config, positions=torch.tensor([4097, 4098, 4099, 4101]), dtype=dtype, atol=atol)


@checks("run_layers")
def test_run_layers_again(student, rng):
    """two calls with different weights, ids and positions in the same memory, and another attend: both results are right"""
    config = small_config(tie_word_embeddings=False)
    wrong = ("wrong values of the first call after a second call", "weights, ids, positions and attend are others, and the result is wrong")
    for T in (4, 1):
        calls, due = [], []
        for _ in wrong:
            weights, mask = small_weights(rng, config), random_mask(rng, T)
            ids, positions = torch.randint(0, config.vocab_size, (2, T), generator=rng), torch.randint(0, 50, (2, T), generator=rng)
            model = student.WeightsOnly(config, weights, None)
            calls.append([model, ids, positions, lambda layer, q, k, v, mask=mask: reading(q, k, v, mask)])
            due.append(hidden_states(weights, config, ids, positions, [mask] * 2)[1])
        for got, want, what in zip(student.run_layers.again(*calls), due, wrong, strict=True):
            close(got, want, atol=1e-3, what=what)


# --- forward ---


@checks("forward", weight=2)
def test_forward_tiny_random(student, rng):
    """the model tiny and random ids: your logits equal those of the kit"""
    model = load_model("tiny")
    for B, T in [(1, 1), (2, 17), (1, 90)]:
        ids = torch.randint(0, model.config.vocab_size, (B, T), generator=rng)
        close(student.forward(student.model("tiny"), ids), model(ids), atol=1e-3, what=f"wrong logits for B={B}, T={T}")


@checks("forward")
def test_forward_long_text(student, rng):
    """three hundred tokens through tiny, and 2,100 through a small model: the logits are right"""
    model = load_model("tiny")
    ids = torch.randint(0, model.config.vocab_size, (1, 300), generator=rng)
    close(student.forward(student.model("tiny"), ids), model(ids), atol=1e-3)
    config = small_config(num_hidden_layers=1, max_position_embeddings=4096)
    weights = small_weights(rng, config)
    ids = torch.randint(0, config.vocab_size, (1, 2100), generator=rng)
    close_forward(student, config, weights, ids)


@checks("forward")
def test_forward_every_id(student, rng):
    """every row of the embedding table, repeated ids, and a batch of seven rows: the logits are right"""
    config = small_config(num_hidden_layers=1, tie_word_embeddings=False)
    weights = small_weights(rng, config)
    rows = torch.stack([torch.arange(config.vocab_size).roll(shift) for shift in range(7)])
    rows[:, 5] = rows[:, 4]
    close_forward(student, config, weights, rows)
    ids = torch.tensor([[1, 5, 5, 2, 0, 1023, 7, 2]])
    close(student.forward(student.model("tiny"), ids), load_model("tiny")(ids), atol=1e-3)


@checks("forward", weight=2)
def test_forward_small_random(student, rng):
    """random models of one to three layers, tied and untied: the logits are right"""
    for L, tied in [(1, True), (2, False), (3, False)]:
        config = small_config(num_hidden_layers=L, tie_word_embeddings=tied, rope_theta=float(_pick(rng, 20, 1000)))
        weights = small_weights(rng, config)
        ids = torch.randint(0, config.vocab_size, (3, _pick(rng, 2, 8)), generator=rng)
        close_forward(student, config, weights, ids, what=f"wrong logits for L={L}, tied={tied}")


@checks("forward")
def test_forward_square_head(student, rng):
    """V = D: the logits are x @ lm_head.T, not x @ lm_head"""
    config = small_config(vocab_size=24, tie_word_embeddings=False, num_hidden_layers=1)
    weights = small_weights(rng, config)
    ids = torch.randint(0, 24, (2, 4), generator=rng)
    close_forward(student, config, weights, ids)


@checks("forward")
def test_forward_small_numbers(student, rng):
    """embeddings so small that eps matters: the logits are right"""
    config = small_config(rms_norm_eps=1e-2, num_hidden_layers=1)
    weights = small_weights(rng, config)
    weights.embed_tokens = 0.05 * weights.embed_tokens
    weights.layers[0].o_proj = 0.05 * weights.layers[0].o_proj
    weights.layers[0].down_proj = 0.05 * weights.layers[0].down_proj
    ids = torch.randint(0, config.vocab_size, (1, 5), generator=rng)
    close_forward(student, config, weights, ids)
    weights.lm_head = torch.randn(config.vocab_size + 3, config.hidden_size, generator=rng)
    close_forward(student, config, weights, ids)


@checks("forward")
def test_forward_dtype(student, rng):
    """the logits have the model's dtype, and in bfloat16 the error is not much larger than PyTorch's"""
    ids = torch.randint(0, 1000, (2, 6), generator=rng)
    exact = load_model("tiny")(ids)
    double = student.forward(student.model("tiny", dtype=torch.float64), ids)
    close(double, exact, atol=1e-3, dtype=torch.float64)
    low = student.forward(student.model("tiny", dtype=torch.bfloat16), ids)
    equal(list(low.shape), list(exact.shape), what="wrong shape")
    that(low.dtype == torch.bfloat16, "wrong dtype", expected="torch.bfloat16", got=str(low.dtype))
    ours = (load_model("tiny", dtype=torch.bfloat16)(ids).float() - exact).square().mean().sqrt()
    yours = (low.float() - exact).square().mean().sqrt()
    that(
        float(yours) <= 2 * float(ours),
        "in bfloat16 the logits are further from the exact ones than twice PyTorch's own",
        expected=f"an error of at most {2 * float(ours):.4f}",
        got=float(yours),
    )


@checks("forward")
def test_forward_long_text_in_half_precision(student, rng):
    """six hundred tokens in bfloat16, which is exact only up to 256: the positions are not rounded"""
    config = small_config(num_hidden_layers=1, max_position_embeddings=1024, rope_theta=10_000.0)
    exact = kit_model(config, small_weights(rng, config))
    low = exact.to(dtype=torch.bfloat16)
    ids = torch.randint(0, config.vocab_size, (1, 600), generator=rng)
    want = exact(ids)
    ours = (low(ids).float() - want).square().mean().sqrt()
    yours = (student.forward(student.WeightsOnly(config, low.weights, None), ids).float() - want).square().mean().sqrt()
    that(
        float(yours) <= 3 * float(ours),
        "in bfloat16 the logits of a long text are further from the exact ones than three times PyTorch's own",
        expected=f"an error of at most {3 * float(ours):.4f}",
        got=float(yours),
        values=False,
    )


@checks("forward")
def test_forward_rows_permuted(student, rng):
    """rows in another order give the same logits in that order"""
    ids = torch.randint(0, 1000, (4, 5), generator=rng)
    order = torch.randperm(4, generator=rng)
    model = student.model("tiny")
    straight = student.forward(model, ids)
    close(student.forward(model, ids[order]), straight[order], atol=1e-4)
    close(straight, load_model("tiny")(ids), atol=1e-3)


def _block(x: torch.Tensor, layer: LayerWeights, config: Config, positions: torch.Tensor) -> torch.Tensor:
    """One layer in float64 on torch's own operations."""
    return block_stages(x, layer, config, positions)[1]


def _pick(rng: torch.Generator, low: int, high: int) -> int:
    """A whole number from low to high, both included."""
    return int(torch.randint(low, high + 1, (), generator=rng))
