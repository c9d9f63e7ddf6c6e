"""Visible checks for the decoder: each names the mistake, and the first stage at which the values differ."""

import torch
import torch.nn.functional as F

from autograder.authoring import checks, close, equal, that
from autograder.checking.helpers.devices import stays_on_its_device
from autograder.checking.helpers.stages import Stage, block_stages, close_by_stages, forward_stages
from course.kit import Config, LayerWeights, Model, Weights, load_model

# --- rms_norm ---


@checks("rms_norm")
def test_rms_norm_by_hand(student, hand):
    """the vector (3, 4), worked out by hand, with weights of 1 and with other weights"""
    for name in ("rms_norm_3_4", "rms_norm_weighted"):
        case = hand[name]
        x, weight = torch.tensor(case["x"]), torch.tensor(case["weight"])
        close(
            student.rms_norm(x, weight, case["eps"]),
            case["normed"],
            atol=6e-5,
            suspects=[
                (x / x.norm() * weight, "x is divided by the root of the sum of the squares, its length; use the root of their mean."),
                (x / x.square().mean() * weight, "x is divided by the mean of the squares; use its root."),
                (x / x.std() * weight, "x is divided by its standard deviation; nothing is to be subtracted."),
                (x / x.square().mean().sqrt(), "The weight is left out."),
            ],
        )


@checks("rms_norm")
def test_rms_norm_eps_inside_the_root(student, hand):
    """a tiny vector by hand, a tiny vector with eps = 0, and a huge vector: eps is added inside the root"""
    case = hand["rms_norm_small"]
    x, weight = torch.tensor(case["x"]), torch.tensor(case["weight"])
    mean = x.square().mean()
    close(
        student.rms_norm(x, weight, case["eps"]),
        case["normed"],
        atol=1e-4,
        suspects=[
            (case["eps_outside"], "eps is added outside the root: sqrt(mean) + eps. It belongs inside: sqrt(mean + eps)."),
            (x / mean.sqrt() * weight, "These are the values without eps."),
            (x / (mean + 1e-6).sqrt() * weight, "eps is 1e-6 here, whatever is given."),
        ],
    )
    ones, want = torch.ones(2), [3 / 12.5**0.5, 4 / 12.5**0.5]
    for x, eps in (([3e-4, 4e-4], 0.0), ([3e5, 4e5], 1e-5)):  # both as (3, 4): only the direction counts
        close(student.rms_norm(torch.tensor(x), ones, eps), want, what=f"wrong values for ({x[0]:g}, {x[1]:g}) with eps {eps:g}")


@checks("rms_norm")
def test_rms_norm_subtracts_nothing(student, hand):
    """equal entries of 2 become 1, and a vector of zeros stays 0: nothing is subtracted"""
    case = hand["rms_norm_constant"]
    weight = torch.tensor(case["weight"])
    close(
        student.rms_norm(torch.tensor(case["x"]), weight, case["eps"]),
        case["normed"],
        suspects=[([0.0] * 4, "Equal entries became 0: their mean has been subtracted, as LayerNorm does.")],
    )
    close(student.rms_norm(torch.zeros(4), weight, 1e-5), [0.0] * 4, what="wrong values for a vector of zeros")


@checks("rms_norm")
def test_rms_norm_each_vector(student, rng):
    """every vector of a batch is normed separately: the values are those of torch's rms_norm"""
    for shape in [(6,), (2, 3, 6), (4, 6)]:
        x = torch.randn(shape, generator=rng) * torch.arange(1, 7)
        weight = torch.randn(6, generator=rng)
        close(
            student.rms_norm(x, weight, 1e-5),
            F.rms_norm(x, (6,), weight, 1e-5),
            atol=1e-5,
            what=f"wrong values for x of shape {shape}",
            suspects=[(x / (x.square().mean() + 1e-5).sqrt() * weight, "One mean for the whole tensor: take it over the last dimension.")],
        )


@checks("rms_norm")
def test_rms_norm_dtype_and_input(student, rng):
    """the result has the dtype of x, and x is not changed, also if x is transposed"""
    for dtype, atol in ((torch.float32, 1e-5), (torch.float64, 1e-5), (torch.bfloat16, 0.05)):
        weight = torch.ones(8, dtype=dtype)
        for x in (torch.randn(3, 8, generator=rng).to(dtype), torch.randn(4, 2, 8, generator=rng).to(dtype).transpose(0, 1)):
            want = F.rms_norm(x.double(), (8,), weight.double(), 1e-5)
            close(student.rms_norm(x, weight, 1e-5, _unchanged=True), want, atol=atol, dtype=dtype)


@checks("rms_norm")
def test_rms_norm_in_float32_inside(student, rng):
    """bfloat16 and float16: mean, eps and root are computed in float32"""
    large = torch.tensor([[300.0, 400.0, 500.0, 600.0]], dtype=torch.float16)
    close(
        student.rms_norm(large, torch.ones(4, dtype=torch.float16), 1e-5),
        F.rms_norm(large.double(), (4,), None, 1e-5),
        atol=2e-3,
        dtype=torch.float16,
        what="wrong values for (300, 400, 500, 600) in float16",
        suspects=[(torch.zeros(1, 4), "The squares or their mean were in float16, where all above 65,504 is infinite.")],
    )
    small = torch.tensor([[1e-4, -1e-4, 2e-4, 3e-4]], dtype=torch.float16)  # the mean of the squares is about 3.75e-8
    close(
        student.rms_norm(small, torch.ones(4, dtype=torch.float16), 1e-8),
        F.rms_norm(small.double(), (4,), None, 1e-8),
        atol=2e-3,
        dtype=torch.float16,
        what="wrong values for (1e-4, -1e-4, 2e-4, 3e-4) in float16 with eps 1e-8, which float16 cannot hold",
    )
    fine = torch.tensor([1.0] + [0.05] * 255, dtype=torch.bfloat16)
    close(
        student.rms_norm(fine, torch.ones(256, dtype=torch.bfloat16), 1e-5),
        F.rms_norm(fine.double(), (256,), None, 1e-5),
        atol=0.0,
        rtol=0.0042,
        dtype=torch.bfloat16,
        what="wrong values for one large entry among many small ones in bfloat16",
    )
    several = torch.randn(24, 48, generator=rng).bfloat16()
    close(
        student.rms_norm(several, torch.ones(48, dtype=torch.bfloat16), 1e-5),
        F.rms_norm(several.double(), (48,), None, 1e-5),
        atol=1e-6,
        rtol=0.00415,
        dtype=torch.bfloat16,
        what="wrong values for 24 vectors in bfloat16",
    )


@checks("rms_norm")
def test_rms_norm_stays_on_its_device(student, rng):
    """every new tensor is on x's device"""
    x, weight = torch.randn(2, 3, 6, generator=rng), torch.randn(6, generator=rng)
    close(student.rms_norm(x, weight, 1e-5), F.rms_norm(x, (6,), weight, 1e-5), atol=1e-5)
    stays_on_its_device(student.rms_norm, x, weight, 1e-5, shape=(2, 3, 6))


# --- feed_forward ---


@checks("feed_forward")
def test_feed_forward_by_hand(student, hand):
    """one token, D = 2 and F = 3, worked out by hand"""
    case = hand["feed_forward"]
    x = torch.tensor(case["x"]).view(1, 1, 2)
    gate, up, down = (torch.tensor(case[name]) for name in ("gate", "up", "down"))
    close(
        student.feed_forward(x, gate, up, down),
        torch.tensor(case["output"]).view(1, 1, 2),
        atol=1e-4,
        suspects=_mistaken(x, gate, up, down),
    )


@checks("feed_forward")
def test_feed_forward_is_silu(student, hand):
    """x, up and down are all 1 and the gate is z: the result is silu(z)"""
    case, one = hand["silu"], torch.ones(1, 1)
    for z, want in sorted([*zip(case["z"], case["silu"], strict=True), (200.0, 200.0), (-200.0, 0.0)], key=lambda pair: pair[0] != -1):
        gate = torch.tensor([[z]])
        others = ((torch.relu, "relu"), (F.gelu, "gelu"), (torch.sigmoid, "the sigmoid alone"), (torch.tanh, "tanh"))
        named = [(function(gate).view(1, 1, 1), f"This is {name} of {z:g}; silu(z) = z * sigmoid(z).") for function, name in others]
        close(
            student.feed_forward(torch.ones(1, 1, 1), gate, one, one),
            torch.tensor(want).view(1, 1, 1),
            atol=6e-5,
            what=f"wrong value for z = {z:g}",
            suspects=named if z == -1 else [],
        )


@checks("feed_forward")
def test_feed_forward_like_torch(student, rng):
    """random x and matrices, square or wide, x contiguous or transposed: the values are those of torch's operations"""
    for D, wide in ((4, 7), (5, 5), (4, 300)):
        gate, up, down = _swiglu(rng, D, wide)
        for x in (torch.randn(2, 3, D, generator=rng), torch.randn(3, 2, D, generator=rng).transpose(0, 1)):
            close(
                student.feed_forward(x, gate, up, down, _unchanged=True),
                F.linear(F.silu(F.linear(x, gate)) * F.linear(x, up), down),
                atol=1e-4,
                what=f"wrong values for D={D}, F={wide}" + ("" if x.is_contiguous() else ", x transposed"),
                suspects=_mistaken(x, gate, up, down),
            )


@checks("feed_forward")
def test_feed_forward_each_token_alone(student, rng):
    """a token's result does not depend on the tokens beside it"""
    x, matrices = torch.randn(2, 4, 6, generator=rng), _swiglu(rng, 6, 5)
    together = student.feed_forward(x, *matrices)
    equal(list(together.shape), [2, 4, 6], what="wrong shape")
    alone = student.feed_forward(x[1:, 2:3], *matrices, _unchanged=True)
    close(together[1:, 2:3], alone, atol=1e-5, what="a token's result differs from that of the same token alone")
    that(not torch.allclose(alone, torch.zeros_like(alone)), "the result is zero")


@checks("feed_forward")
def test_feed_forward_keeps_dtype_and_device(student, rng):
    """the result has the dtype of x, float64 keeps all digits, and every new tensor is on x's device"""
    for dtype, atol, rtol in ((torch.float64, 1e-9, 1e-9), (torch.bfloat16, 0.15, 0.05)):
        x, gate, up, down = ((torch.randn(s, generator=rng) / 2).to(dtype) for s in [(2, 3, 4), (6, 4), (6, 4), (4, 6)])
        exact = [t.double() for t in (x, gate, up, down)]
        want = F.linear(F.silu(F.linear(exact[0], exact[1])) * F.linear(exact[0], exact[2]), exact[3])
        close(student.feed_forward(x, gate, up, down), want, atol=atol, rtol=rtol, dtype=dtype)
        stays_on_its_device(student.feed_forward, x, gate, up, down, shape=(2, 3, 4), dtype=dtype)


@checks("feed_forward")
def test_feed_forward_of_other_matrices(student, rng):
    """x and matrices are overwritten between two calls: the second result is new, and the first result does not change"""
    calls = [(torch.randn(2, 3, 4, generator=rng), *_swiglu(rng, 4, 6)) for _ in range(2)]
    messages = ("wrong values of the first call after a second call", "the same tensors hold other numbers, and the result is wrong")
    for (x, gate, up, down), got, what in zip(calls, student.feed_forward.again(*map(list, calls)), messages, strict=True):
        close(got, F.linear(F.silu(F.linear(x, gate)) * F.linear(x, up), down), atol=1e-4, what=what)


def _mistaken(x: torch.Tensor, gate: torch.Tensor, up: torch.Tensor, down: torch.Tensor) -> list[tuple[torch.Tensor, str]]:
    z, u = F.linear(x, gate), F.linear(x, up)
    found = [
        (z * F.silu(u), "silu is applied to up; it belongs to the gate."),
        (F.silu(z) * F.silu(u), "silu is applied to both; it belongs to the gate alone."),
        (F.silu(z * u), "silu is taken of the product; it belongs to the gate alone."),
        (z * u, "silu is left out."),
        (F.silu(z) + u, "The two are added; they are to be multiplied."),
        (F.silu(z), "up x is left out."),
        (z.sigmoid() * u, "This is the sigmoid of the gate; silu(z) = z * sigmoid(z)."),
    ]
    suspects = [(F.linear(inner, down), cause) for inner, cause in found]
    if gate.shape[0] == gate.shape[1]:
        plain = (F.silu(x @ gate) * (x @ up)) @ down
        suspects += [(plain, "The matrices are used as they are: rows are outputs, so each is transposed, x @ gate.T.")]
        suspects += [(F.linear(F.silu(x @ gate) * u, down), "gate is not transposed: rows are outputs, x @ gate.T.")]
        suspects += [((F.silu(z) * u) @ down, "down is not transposed: rows are outputs, ... @ down.T.")]
    return suspects


# --- decoder_block ---


@checks("decoder_block")
def test_block_whole(student, rng):
    """one layer and random tokens: the values are those of torch's own operations"""
    config = small_config()
    layer, x = small_layer(rng, config), torch.randn(2, 5, config.hidden_size, generator=rng)
    close_block(student, x, layer, config, torch.arange(5), atol=1e-4)


@checks("decoder_block")
def test_block_heads_of_any_width(student, rng):
    """any number of heads: the width of a head is config.head_dim, also if head_dim is not D / H"""
    for H, K, Dh in ((6, 3, 2), (4, 1, 10), (12, 4, 2)):
        changes = {"num_attention_heads": H, "num_key_value_heads": K, "head_dim": Dh}
        config = small_config(**changes)
        layer, x = small_layer(rng, config), torch.randn(2, 3, config.hidden_size, generator=rng)
        sizes = f"D={config.hidden_size}, {H=}, {K=}, {Dh=}"
        close_block(student, x, layer, config, torch.arange(3), atol=1e-4, what=f"wrong values for {sizes}")


@checks("decoder_block")
def test_block_keeps_the_old(student, rng):
    """attention and feed-forward add to x: with both switched off, the block returns x"""
    config = small_config()
    layer = small_layer(rng, config)
    x, positions = torch.randn(2, 3, config.hidden_size, generator=rng), torch.arange(3)
    attention_out, feed_out = layer.o_proj, layer.down_proj
    layer.o_proj, layer.down_proj = torch.zeros_like(attention_out), torch.zeros_like(feed_out)
    close(
        student.decoder_block(x, layer, config, positions),
        x,
        atol=1e-6,
        what="o_proj and down_proj are all zeros, so nothing is added to x, and the result is not x",
        suspects=[(torch.zeros_like(x), "The result is zero: what is added comes back without x.")],
    )
    layer.o_proj = attention_out
    changed = student.decoder_block(x, layer, config, positions)
    that(not torch.allclose(changed, x), "attention adds nothing to x")
    layer.o_proj, layer.down_proj = torch.zeros_like(attention_out), feed_out
    close_block(student, x, layer, config, positions, atol=1e-4, what="wrong values with attention switched off")


@checks("decoder_block")
def test_block_never_looks_ahead(student, rng):
    """changing a token changes the results from that token on, and no earlier result, even at very high scores"""
    config = small_config()
    layer = small_layer(rng, config)
    for T in (5, 2):
        x, positions = torch.randn(1, T, config.hidden_size, generator=rng), torch.arange(T)
        changed = T - 2 if T > 2 else 1
        before = student.decoder_block(x, layer, config, positions)
        x2 = x.clone()
        x2[:, changed] += 3.0
        after = student.decoder_block(x2, layer, config, positions)
        message = f"token {changed} of {T} was changed"
        close(after[:, :changed], before[:, :changed], atol=1e-5, what=f"{message}, and results before it changed")
        for later in range(changed, T):
            that(not torch.allclose(after[:, later], before[:, later]), f"{message}, and the result of token {later} did not change")
    layer.q_proj, layer.k_proj = 300 * layer.q_proj, 300 * layer.k_proj  # scores of tens of thousands
    x, positions = torch.randn(2, 6, config.hidden_size, generator=rng), torch.arange(6)
    before = student.decoder_block(x, layer, config, positions)
    want = block_stages(x, layer, config, positions)[1]
    close(before[:, :1], want[:, :1], atol=1e-3, what="wrong values of token 0 where scores are very high")
    after = student.decoder_block(torch.cat((x[:, :3], -x[:, 3:]), dim=1), layer, config, positions)
    close(after[:, :3], before[:, :3], atol=1e-5, what="tokens 3 to 5 with very high scores were changed, and results before them changed")


@checks("decoder_block")
def test_block_uses_the_positions(student, rng):
    """positions (T,) or (B, T): adding 6 to all positions changes nothing, other distances change the result"""
    config = small_config()
    layer = small_layer(rng, config)
    x = torch.randn(2, 4, config.hidden_size, generator=rng)
    near, wide = torch.tensor([0, 1, 2, 3]), torch.tensor([0, 2, 9, 11])
    plain = student.decoder_block(x, layer, config, near)
    spread = student.decoder_block(x, layer, config, wide)
    that(not torch.allclose(plain, spread, atol=1e-4), "other positions give the same result")
    close(
        student.decoder_block(x, layer, config, near + 6),
        plain,
        atol=1e-3,
        what="the result changed when all positions grew by 6",
    )
    both = student.decoder_block(x, layer, config, torch.stack((near, wide)))
    close(both[0], plain[0], atol=1e-5, what="row 0 differs from the same row with positions (T,)")
    close(both[1], spread[1], atol=1e-5, what="row 1 differs from the same row with positions (T,)")
    close_block(student, x, layer, config, wide, atol=1e-4, what="wrong values with positions 0, 2, 9, 11")
    x, each = torch.randn(3, 3, config.hidden_size, generator=rng), torch.tensor([[0, 1, 2], [3, 5, 9], [4, 11, 12]])
    close_block(student, x, layer, config, each, atol=1e-4, what="wrong values with positions (B, T) for as many rows as tokens")


@checks("decoder_block")
def test_block_of_a_long_text(student, rng):
    """a text of 1,100 tokens; positions near 4,096, also in bfloat16 and float16: the values are right"""
    config = small_config()  # it names 64 positions, and a layer does more
    layer, x, positions = small_layer(rng, config), torch.randn(1, 1100, config.hidden_size, generator=rng), torch.arange(1100)
    want = block_stages(x, layer, config, positions)[1]
    close(student.decoder_block(x, layer, config, positions), want, atol=2e-3, what="wrong values for 1,100 tokens")
    config = small_config(max_position_embeddings=16_384, head_dim=2, rope_theta=10_000.0)
    positions = torch.tensor([4095, 4097, 4098, 4099])
    for dtype, atol in ((torch.float32, 5e-3), (torch.bfloat16, 0.4), (torch.float16, 0.05)):
        layer, x = small_layer(rng, config, dtype), torch.randn(2, 4, config.hidden_size, generator=rng).to(dtype)
        want = block_stages(x, layer, config, positions)[1]
        got = student.decoder_block(x, layer, config, positions)
        message = f"wrong values with positions 4095, 4097, 4098, 4099 in {str(dtype).removeprefix('torch.')}"
        close(got, want, atol=atol, rtol=0.05 if atol > 0.01 else 1e-5, dtype=dtype, what=message)


@checks("decoder_block")
def test_block_of_other_weights(student, rng):
    """x and the layer's weights are overwritten between two calls: the second result is new, and the first result does not change"""
    config, positions = small_config(), torch.arange(3)
    calls = [(torch.randn(2, 3, config.hidden_size, generator=rng), small_layer(rng, config)) for _ in range(2)]
    here = [[x, student.LayerWeights(**vars(layer)), config, positions] for x, layer in calls]
    messages = ("wrong values of the first call after a second call", "other weights were put into the layer, and its result is wrong")
    for (x, layer), got, what in zip(calls, student.decoder_block.again(*here), messages, strict=True):
        close(got, block_stages(x, layer, config, positions)[1], atol=1e-4, what=what)


@checks("decoder_block")
def test_block_leaves_its_input(student, rng):
    """one token or three: no argument is changed, and a second call gives the same result"""
    config = small_config()
    weights = small_layer(rng, config)
    layer = student.LayerWeights(**vars(weights))  # stays with the student's code: a change would last
    for T in (3, 1):
        x, positions = torch.randn(2, T, config.hidden_size, generator=rng), torch.arange(T)
        first = student.decoder_block(x, layer, config, positions, _unchanged=True)
        close(student.decoder_block(x, layer, config, positions), first, atol=1e-6, what="a second call gives another result")
        close(first, block_stages(x, weights, config, positions)[1], atol=1e-4)


@checks("decoder_block")
def test_block_keeps_dtype_and_device(student, rng):
    """the result has the dtype of x, and every new tensor is on x's device"""
    config = small_config()
    for dtype, atol in ((torch.float64, 1e-4), (torch.bfloat16, 0.4)):
        layer, positions = small_layer(rng, config, dtype), torch.arange(3)
        x = torch.randn(2, 3, config.hidden_size, generator=rng).to(dtype)
        want = block_stages(x, layer, config, positions)[1]
        got = student.decoder_block(x, layer, config, positions)
        close(got, want, atol=atol, rtol=0.05 if atol > 0.1 else 1e-5, dtype=dtype)
        for at in (positions, positions.expand(2, 3)):
            stays_on_its_device(student.decoder_block, x, layer, config, at, shape=x.shape, dtype=dtype)


@checks("decoder_block")
def test_block_attend(student, rng):
    """attend replaces attention, for one token or several: one call with turned q, turned k and v, whose result is used"""
    for positions in ([[1, 2, 3, 4], [2, 3, 7, 9]], [[4], [9]], [[7, 2, 71, 90]]):
        block_with_reading(student, rng, small_config(), torch.tensor(positions), B=len(positions), by_token=True)


@checks("decoder_block")
def test_block_attend_dtype_and_device(student, rng):
    """with attend: q, k and v have the dtype of x, and every new tensor is on x's device"""
    config, positions = small_config(), torch.arange(1, 5)
    for dtype, atol in ((torch.bfloat16, 0.4), (torch.float16, 0.05)):
        block_with_reading(student, rng, config, positions, dtype=dtype, atol=atol)
        layer, x = small_layer(rng, config, dtype), torch.randn(2, 4, config.hidden_size, generator=rng).to(dtype)
        given = (x, layer, config, positions, lambda q, k, v: reading(q, k, v, None))
        stays_on_its_device(student.decoder_block, *given, shape=x.shape, dtype=dtype)


# --- run_layers ---


@checks("run_layers", weight=2)
def test_run_layers_calls_attend(student, rng):
    """three layers: attend is called once per layer, in order, with the layer's number, q, k and v; its results are used"""
    run_with_readings(student, rng, small_config(num_hidden_layers=3, tie_word_embeddings=False))


@checks("run_layers")
def test_run_layers_positions(student, rng):
    """positions (T,) or (B, T), with gaps, in any order, or above config.max_position_embeddings: the values are right"""
    config = small_config(tie_word_embeddings=False)  # it names 64 positions
    for positions in ([3, 4, 9, 11], [[0, 1, 2, 3], [5, 6, 10, 17]], [9, 2, 17, 4], [[70, 90, 64, 300], [71, 5, 88, 8]]):
        run_with_readings(student, rng, config, positions=torch.tensor(positions))


@checks("run_layers")
def test_run_layers_of_other_ids(student, rng):
    """two equal rows, transposed ids, one token per row, or ids above 32,767: the values are right"""
    config = small_config(tie_word_embeddings=False)
    for ids in (torch.tensor([[5, 0, 12], [5, 0, 12]]), torch.tensor([[7, 3], [1, 9], [4, 12]]).T, torch.tensor([[8], [2]])):
        run_with_readings(student, rng, config, ids=ids)
    config = small_config(tie_word_embeddings=False, vocab_size=33_000, num_hidden_layers=1)
    run_with_readings(student, rng, config, ids=torch.tensor([[32_999, 4, 32_768]]))


@checks("run_layers")
def test_run_layers_of_other_weights(student, rng):
    """the weights, alone or with the ids, are overwritten between two calls: a new second result, an unchanged first"""
    config, positions = small_config(tie_word_embeddings=False), torch.arange(4)
    for then, others in (([5, 9, 2, 6], "weights and ids"), ([3, 1, 4, 1], "weights")):
        calls = [(small_weights(rng, config), torch.tensor([ids])) for ids in ([3, 1, 4, 1], then)]
        here = [[student.WeightsOnly(config, weights, None), ids, positions, _read_all] for weights, ids in calls]
        messages = ("wrong values of the first call after a second call", f"other {others} are in the same memory, and the result is wrong")
        for (weights, ids), got, what in zip(calls, student.run_layers.again(*here), messages, strict=True):
            want = hidden_states(weights, config, ids, positions, [torch.ones(4, 4, dtype=torch.bool)] * 2)[1]
            close(got, want, atol=1e-3, what=what)


@checks("run_layers")
def test_run_layers_that_are_there(student, rng):
    """0, 1 or 3 layers in model.weights.layers, where the config names 2: exactly these layers are run"""
    for L in (0, 1, 3):
        run_with_readings(student, rng, small_config(tie_word_embeddings=False), layers=L)


@checks("run_layers")
def test_run_layers_leaves_model_and_arguments(student, rng):
    """several tokens or one: no argument is changed, and a second call gives the same result"""
    config = small_config(tie_word_embeddings=False)
    weights = small_weights(rng, config)
    model = student.WeightsOnly(config, weights, None)
    for B, T in ((2, 4), (1, 1)):
        ids, positions = torch.randint(0, config.vocab_size, (B, T), generator=rng), torch.arange(1, T + 1)
        want = hidden_states(weights, config, ids, positions, [torch.ones(T, T, dtype=torch.bool)] * 2)[1]
        for what in ("wrong values", "a second call gives other values"):
            close(student.run_layers(model, ids, positions, _read_all, _unchanged=True), want, atol=1e-3, what=what)


@checks("run_layers")
def test_run_layers_keeps_the_dtype_and_gradients(student, rng):
    """q, k, v and the result have the model's dtype; gradient mode is the caller's, also inside attend"""
    config = small_config(tie_word_embeddings=False)
    weights = small_weights(rng, config)
    ids, positions = torch.randint(0, config.vocab_size, (1, 4), generator=rng), torch.arange(4)
    want = hidden_states(weights, config, ids, positions, [torch.ones(4, 4, dtype=torch.bool)] * 2)[1]
    model = student.WeightsOnly(config, weights.to(device="cpu", dtype=torch.float64), None)
    modes: list[bool] = []
    dtypes: list[str] = []

    def attend(layer, q, k, v):
        modes.append(torch.is_grad_enabled())
        dtypes.extend(str(part.dtype) for part in (q, k, v))
        return _read_all(layer, q, k, v)

    for mode in ("on", "off"):
        student.gradients(mode == "on")
        modes.clear()
        close(student.run_layers(model, ids, positions, attend), want, atol=1e-3, dtype=torch.float64)
        equal(student.gradients(True), mode, what="the caller's gradient mode is not what it was")
        that(set(modes) == {mode == "on"}, f"gradients are {mode} when run_layers is called, but not when attend is called")
    equal(dtypes, ["torch.float64"] * len(dtypes), what="attend is given tensors of another dtype than the model's")


@checks("run_layers")
def test_run_layers_stays_on_its_device(student, rng):
    """every new tensor is on the model's device"""
    model, ids = student.model("tiny", dtype=torch.bfloat16, device="meta"), torch.ones(2, 3, dtype=torch.int64)
    shape = (2, 3, load_model("tiny").config.hidden_size)
    for positions in (torch.arange(3), torch.arange(6).view(2, 3)):
        stays_on_its_device(student.run_layers, model, ids, positions, _read_all, shape=shape, dtype=torch.bfloat16)


# --- forward ---


@checks("forward")
def test_forward_tiny(student):
    """the model tiny and one sentence: your logits equal those of the kit"""
    model = load_model("tiny")
    ids = torch.tensor([model.tokenizer.encode("To be, or not to be, that is the question:")])
    close_by_stages(
        student,
        lambda: student.forward(student.model("tiny"), ids),
        model(ids),
        lambda: forward_stages(model, ids),
        atol=1e-3,
    )


@checks("forward")
def test_forward_small_untied(student, rng):
    """the head is lm_head: untied, square, of more than vocab_size rows, or separate although the config says tied"""
    for V in (13, 24):  # the width is 24
        config = small_config(tie_word_embeddings=False, vocab_size=V)
        weights = small_weights(rng, config)
        ids = torch.randint(0, config.vocab_size, (2, 6), generator=rng)
        close_forward(student, config, weights, ids, what=f"wrong logits with a head of {V} rows and 24 columns")
    wide, ids = small_weights(rng, config), torch.randint(0, 13, (1, 4), generator=rng)
    wide.lm_head = torch.cat([wide.lm_head, wide.lm_head[:2]])
    close_forward(student, config, wide, ids, what="wrong logits with a head of more rows than the config names")
    config = small_config(tie_word_embeddings=True)
    weights = small_weights(rng, config)
    weights.lm_head = torch.randn(config.vocab_size, 24, generator=rng)
    close_forward(student, config, weights, ids, what="wrong logits with a head of its own, though the config calls it tied")


@checks("forward")
def test_forward_layers_that_are_there(student, rng):
    """1, 0 or 3 layers in model.weights.layers, where the config names 2: exactly these layers are run"""
    config = small_config(tie_word_embeddings=False)
    whole = small_weights(rng, config)
    ids = torch.randint(0, config.vocab_size, (1, 4), generator=rng)
    for layers in (whole.layers[:1], [], [*whole.layers, small_layer(rng, config)]):
        weights = Weights(whole.embed_tokens, layers, whole.norm, whole.lm_head)
        close_forward(student, config, weights, ids, what=f"wrong logits with {len(layers)} layers")


@checks("forward")
def test_forward_of_other_weights(student, rng):
    """the weights are overwritten between two calls: the second logits are new, and the first logits do not change"""
    config = small_config(tie_word_embeddings=False)
    ids = torch.randint(0, config.vocab_size, (1, 4), generator=rng)
    before, after = small_weights(rng, config), small_weights(rng, config)
    models = [student.WeightsOnly(config, weights, None) for weights in (before, after)]
    first, second = student.forward.again([models[0], ids], [models[1], ids])
    close(first, kit_model(config, before)(ids), atol=1e-3, what="wrong logits once the model has been asked again")
    close(second, kit_model(config, after)(ids), atol=1e-3, what="other weights were put into the model, and its logits are wrong")


@checks("forward")
def test_forward_shape(student):
    """the logits have shape (B, T, V), and no argument is changed"""
    model = student.model("tiny")
    vocab_size = load_model("tiny").config.vocab_size
    for B, T in [(1, 1), (3, 4)]:
        ids = torch.arange(10, 10 + B * T).view(B, T)
        got = student.forward(model, ids, _unchanged=True)
        equal(list(got.shape), [B, T, vocab_size], what="wrong shape")
        close(got[:, 0], load_model("tiny")(ids)[:, 0], atol=1e-3, what="wrong logits at position 0")


@checks("forward")
def test_forward_rows(student, rng):
    """each row of a batch gets the same logits as that row alone"""
    model = student.model("tiny")
    ids = torch.randint(3, 1000, (6, 7), generator=rng)
    together = student.forward(model, ids)
    for row in range(6):
        alone = student.forward(model, ids[row : row + 1])
        close(together[row], alone[0], atol=1e-4, what=f"row {row} differs from the same row alone")
    close(together, load_model("tiny")(ids), atol=1e-3)


@checks("forward")
def test_forward_prefix(student, rng):
    """tokens appended to a text do not change the earlier logits"""
    model = student.model("tiny")
    ids = torch.randint(3, 1000, (1, 9), generator=rng)
    whole, part = student.forward(model, ids), student.forward(model, ids[:, :5])
    close(whole[:, :5], part, atol=1e-4, what="the logits of five tokens changed when four more came after them")
    close(part, load_model("tiny")(ids[:, :5]), atol=1e-3)


@checks("forward")
def test_forward_of_a_long_text(student, rng):
    """1,100 tokens through a small model: the logits are right in the first call and in the second"""
    config = small_config(num_hidden_layers=1, max_position_embeddings=2048, tie_word_embeddings=False)
    weights = small_weights(rng, config)
    ids = torch.randint(0, config.vocab_size, (1, 1100), generator=rng)
    model, want = student.WeightsOnly(config, weights, None), kit_model(config, weights)(ids)
    for what in ("wrong logits", "a second call gives other logits"):
        close(student.forward(model, ids), want, atol=1e-3, what=what)


@checks("forward")
def test_forward_of_a_long_text_in_bfloat16(student, rng):
    """600 tokens in bfloat16, which is exact only up to 256: the positions are not rounded"""
    config = small_config(num_hidden_layers=1, max_position_embeddings=1024, rope_theta=10_000.0)
    model = kit_model(config, small_weights(rng, config))
    low, ids = model.to(dtype=torch.bfloat16), torch.randint(0, config.vocab_size, (1, 600), generator=rng)
    exact, got = model(ids), student.forward(student.WeightsOnly(config, low.weights, None), ids)
    equal(list(got.shape), list(exact.shape), what="wrong shape")
    kits, yours = (float((logits.float() - exact).square().mean().sqrt()) for logits in (low(ids), got))
    that(
        yours <= 3 * kits,
        "in bfloat16 your logits are further from those in float32 than three times the kit's",
        expected=f"an error of at most {3 * kits:.4f}",
        got=yours,
        values=False,
    )


@checks("forward")
def test_forward_keeps_dtype_and_device(student, rng):
    """the logits have the model's dtype, and every new tensor is on the model's device"""
    ids = torch.randint(3, 1000, (2, 5), generator=rng)
    want = load_model("tiny")(ids)
    close(student.forward(student.model("tiny", dtype=torch.float64), ids), want, atol=1e-3, dtype=torch.float64)
    low = student.forward(student.model("tiny", dtype=torch.bfloat16), ids)
    that(low.dtype == torch.bfloat16, "wrong dtype", expected="torch.bfloat16", got=str(low.dtype))
    stays_on_its_device(student.forward, student.model("tiny", device="meta"), ids, shape=want.shape)


def block_with_reading(
    student,
    rng,
    config: Config,
    positions: torch.Tensor,
    *,
    B: int = 2,
    dtype: torch.dtype = torch.float32,
    atol: float = 1e-3,
    by_token: bool = False,
) -> None:
    """The student's layer with an attend of ours: its call and the result against torch's own operations. by_token: see `reading`."""
    T = positions.shape[-1]
    layer, x = small_layer(rng, config, dtype), torch.randn(B, T, config.hidden_size, generator=rng).to(dtype)
    mask = random_mask(rng, T)
    stages, want = block_stages(x, layer, config, positions, mask)
    calls: list[tuple[torch.Tensor, ...]] = []

    def attend(queries, keys, values):
        calls.append((queries, keys, values))
        if queries.dim() != 4:
            return queries  # their shape is compared below
        return reading(queries, keys, values, mask, by_token=by_token)

    got = student.decoder_block(x, layer, config, positions, attend, _unchanged=True)
    equal(len(calls), 1, what="attend is not called once")
    _same_heads(calls[0], stages, "", dtype=dtype, atol=atol)
    close(got, want, atol=atol, rtol=0.05 if atol > 0.01 else 1e-5, dtype=dtype, what="wrong values with an attend of ours")


def run_with_readings(
    student,
    rng,
    config: Config,
    *,
    positions: torch.Tensor | None = None,
    layers: int | None = None,
    ids: torch.Tensor | None = None,
    dtype: torch.dtype = torch.float32,
    atol: float = 1e-3,
) -> None:
    """The student's pass with a mask of its own in each layer: calls of attend and result against torch's own operations."""
    weights = small_weights(rng, config)
    if layers is not None:
        weights.layers = [small_layer(rng, config) for _ in range(layers)]
    weights = weights.to(device="cpu", dtype=dtype)
    L = len(weights.layers)
    ids = torch.randint(0, config.vocab_size, (2, 4), generator=rng) if ids is None else ids
    positions = torch.arange(ids.shape[1]) if positions is None else positions
    masks = [random_mask(rng, ids.shape[1]) for _ in weights.layers]
    calls: list[tuple[int, tuple[torch.Tensor, ...]]] = []

    def attend(number, queries, keys, values):
        calls.append((number, (queries, keys, values)))
        mask = masks[number] if type(number) is int and 0 <= number < L else masks[0]
        return reading(queries, keys, values, mask, by_token=len(calls) % 2 == 0)

    got = student.run_layers(student.WeightsOnly(config, weights, None), ids, positions, attend, _unchanged=True)
    numbers = [number for number, _ in calls]
    plain = all(type(number) is int for number in numbers)
    that(plain, "attend is given something else than a layer's number", expected="an int", got=numbers)
    equal(numbers, list(range(L)), what="attend is not called once for each layer, in order, with its number")
    stages, want = hidden_states(weights, config, ids, positions, masks)
    for (layer, heads), due in zip(calls, stages, strict=True):
        _same_heads(heads, due, f" in layer {layer}", dtype=dtype, atol=atol)
    message = f"wrong values after {L} layers and the final norm"
    close(got, want, atol=atol, rtol=0.05 if atol > 0.01 else 1e-5, dtype=dtype, what=message)


def hidden_states(weights: Weights, config: Config, ids: torch.Tensor, positions: torch.Tensor, masks: list[torch.Tensor]):
    """(the stages of each layer, what comes after the final norm), in float64."""
    x, stages = weights.embed_tokens[ids].double(), []
    for layer, mask in zip(weights.layers, masks, strict=True):
        given, x = block_stages(x, layer, config, positions, mask)
        stages.append(given)
    return stages, F.rms_norm(x, x.shape[-1:], weights.norm.double(), config.rms_norm_eps)


def _same_heads(heads: tuple[torch.Tensor, ...], stages: list[Stage], where: str, *, dtype: torch.dtype, atol: float) -> None:
    named = {stage.name: stage.values[0] for stage in stages}
    for got, name in zip(heads, ("the turned queries", "the turned keys", "the values"), strict=True):
        close(got, named[name], atol=atol, dtype=dtype, what=f"attend is given other tensors than {name}{where}")


def random_mask(rng: torch.Generator, T: int) -> torch.Tensor:
    return (torch.rand(T, T, generator=rng) < 0.5) | torch.eye(T, dtype=torch.bool)


def reading(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor | None, *, by_token: bool = False) -> torch.Tensor:
    """by_token: in memory one token stands after the other, as FlashAttention leaves them, not one head."""
    read = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=k.shape[1] != q.shape[1])
    return read.transpose(1, 2).contiguous().transpose(1, 2) if by_token else read.contiguous()


def _read_all(layer: int, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return reading(q, k, v, None)


def close_block(student, x, layer: LayerWeights, config: Config, positions: torch.Tensor, **options) -> torch.Tensor:
    """The student's layer against torch's own operations; gives the student's result."""
    stages, want = block_stages(x, layer, config, positions)
    return close_by_stages(student, lambda: student.decoder_block(x, layer, config, positions), want, lambda: stages, **options)


def close_forward(student, config: Config, weights: Weights, ids: torch.Tensor, **options) -> None:
    """The student's pass through a small model against the kit's."""
    model = kit_model(config, weights)
    close_by_stages(
        student,
        lambda: student.forward(student.WeightsOnly(config, weights, None), ids),
        model(ids),
        lambda: forward_stages(model, ids),
        atol=1e-3,
        **options,
    )


# --- small models, drawn at random: their eps is large and their base small, so that both can be seen ---


def small_config(**changes) -> Config:
    values = {
        "name": "small",
        "vocab_size": 13,
        "hidden_size": 24,
        "intermediate_size": 20,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 6,
        "rope_theta": 50.0,
        "rms_norm_eps": 0.1,
        "max_position_embeddings": 64,
        "tie_word_embeddings": True,
        "bos_token_id": None,
        "eos_token_id": None,
    }
    return Config(**{**values, **changes})


def small_layer(rng: torch.Generator, config: Config, dtype: torch.dtype = torch.float32) -> LayerWeights:
    D, wide, Dh = config.hidden_size, config.intermediate_size, config.head_dim
    q_rows, kv_rows = config.num_attention_heads * Dh, config.num_key_value_heads * Dh

    def draw(*shape: int) -> torch.Tensor:
        return (1.5 * torch.randn(shape, generator=rng) / shape[-1] ** 0.5).to(dtype)

    def around_one() -> torch.Tensor:
        return (0.5 + torch.rand(D, generator=rng)).to(dtype)

    return LayerWeights(
        input_layernorm=around_one(),
        q_proj=draw(q_rows, D),
        k_proj=draw(kv_rows, D),
        v_proj=draw(kv_rows, D),
        o_proj=draw(D, q_rows),
        post_attention_layernorm=around_one(),
        gate_proj=draw(wide, D),
        up_proj=draw(wide, D),
        down_proj=draw(D, wide),
    )


def small_weights(rng: torch.Generator, config: Config) -> Weights:
    V, D = config.vocab_size, config.hidden_size
    embed_tokens = torch.randn(V, D, generator=rng)
    layers = [small_layer(rng, config) for _ in range(config.num_hidden_layers)]
    norm = 0.5 + torch.rand(D, generator=rng)
    lm_head = embed_tokens if config.tie_word_embeddings else torch.randn(V, D, generator=rng)
    return Weights(embed_tokens, layers, norm, lm_head)


def kit_model(config: Config, weights: Weights) -> Model:
    return Model(config, weights, lambda: load_model("tiny").tokenizer)


def _swiglu(rng: torch.Generator, D: int, wide: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    gate, up = (torch.randn(wide, D, generator=rng) for _ in range(2))
    return gate, up, torch.randn(D, wide, generator=rng)
