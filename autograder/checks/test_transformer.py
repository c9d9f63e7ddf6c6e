"""Checks for the decoder that students may read: each says what is wrong and what probably caused it."""

import torch
import torch.nn.functional as F

from autograder.authoring import checks, close, equal, that
from course.kit import Config, LayerWeights, Model, Weights, load_model

# --- rms_norm ---


@checks("rms_norm")
def test_rms_norm_by_hand(student, hand):
    """(3, 4), worked out by hand, without and with weights"""
    for name in ("rms_norm_3_4", "rms_norm_weighted"):
        case = hand[name]
        close(
            student.rms_norm(torch.tensor(case["x"]), torch.tensor(case["weight"]), case["eps"]),
            case["normed"],
            atol=6e-5,
            cause="Divide by the root of the mean of the squares (not of their sum), then multiply by the weight.",
        )


@checks("rms_norm")
def test_rms_norm_eps_inside_the_root(student, hand):
    """a vector so small that eps matters"""
    case = hand["rms_norm_small"]
    close(
        student.rms_norm(torch.tensor(case["x"]), torch.tensor(case["weight"]), case["eps"]),
        case["normed"],
        atol=1e-4,
        cause="eps is added to the mean of the squares, before the root: sqrt(mean + eps). Is it the eps that was given?",
    )


@checks("rms_norm")
def test_rms_norm_subtracts_nothing(student, hand):
    """equal entries become 1, and zeros stay 0"""
    case = hand["rms_norm_constant"]
    weight = torch.tensor(case["weight"])
    close(
        student.rms_norm(torch.tensor(case["x"]), weight, case["eps"]),
        case["normed"],
        cause="RMSNorm takes no mean away: that is LayerNorm.",
    )
    close(
        student.rms_norm(torch.zeros(4), weight, 1e-5),
        [0.0] * 4,
        cause="eps is there so that a vector of zeros is not divided by 0.",
    )


@checks("rms_norm")
def test_rms_norm_each_vector(student, rng):
    """every vector of a batch by itself, as torch's own rms_norm does"""
    for shape in [(6,), (2, 3, 6), (4, 6)]:
        x = torch.randn(shape, generator=rng) * torch.arange(1, 7)
        weight = torch.randn(6, generator=rng)
        close(
            student.rms_norm(x, weight, 1e-5),
            F.rms_norm(x, (6,), weight, 1e-5),
            atol=1e-5,
            what=f"wrong values for x of shape {shape}",
            cause="The mean runs over the last dimension only; keep that dimension, so that the division broadcasts.",
        )


@checks("rms_norm")
def test_rms_norm_dtype_and_input(student, rng):
    """dtype kept, input not changed"""
    for dtype, atol in ((torch.float32, 1e-5), (torch.float64, 1e-5), (torch.bfloat16, 0.05)):
        x, weight = torch.randn(3, 8, generator=rng).to(dtype), torch.ones(8, dtype=dtype)
        close(
            student.rms_norm(x, weight, 1e-5, _unchanged=True),
            F.rms_norm(x.double(), (8,), weight.double(), 1e-5),
            atol=atol,
            dtype=dtype,
            cause="Compute in float32, and give back the dtype that came in.",
        )


# --- feed_forward ---


@checks("feed_forward")
def test_feed_forward_by_hand(student, hand):
    """one token, D = 2 and F = 3, worked out by hand"""
    case = hand["feed_forward"]
    x = torch.tensor(case["x"]).view(1, 1, 2)
    matrices = [torch.tensor(case[name]) for name in ("gate", "up", "down")]
    close(
        student.feed_forward(x, *matrices),
        torch.tensor(case["output"]).view(1, 1, 2),
        atol=1e-4,
        cause="silu belongs to the gate alone, and its result is multiplied with up x, entry by entry. Rows of a matrix are "
        "its outputs: x @ gate.T.",
    )


@checks("feed_forward")
def test_feed_forward_is_silu(student, hand):
    """with one entry and matrices of 1, the gate's value z becomes silu(z)"""
    case, one = hand["silu"], torch.ones(1, 1)
    for z, want in zip(case["z"], case["silu"], strict=True):
        got = student.feed_forward(torch.ones(1, 1, 1), torch.tensor([[z]]), one, one)
        close(
            got,
            torch.tensor(want).view(1, 1, 1),
            atol=6e-5,
            what=f"wrong value for z = {z:g}",
            cause="silu(z) = z * sigmoid(z). relu gives 0 for negative z, gelu 0.8413 for 1.",
        )


@checks("feed_forward")
def test_feed_forward_like_torch(student, rng):
    """random tokens and matrices"""
    x, (gate, up, down) = torch.randn(2, 3, 4, generator=rng), _swiglu(rng, 4, 7)
    close(
        student.feed_forward(x, gate, up, down, _unchanged=True),
        F.linear(F.silu(F.linear(x, gate)) * F.linear(x, up), down),
        atol=1e-4,
        cause="Which of the two matrices goes through silu? The first one, gate.",
    )


@checks("feed_forward")
def test_feed_forward_each_token_alone(student, rng):
    """a token's result does not depend on the tokens beside it"""
    x, matrices = torch.randn(2, 4, 6, generator=rng), _swiglu(rng, 6, 5)
    together = student.feed_forward(x, *matrices)
    equal(list(together.shape), [2, 4, 6], what="wrong shape")
    alone = student.feed_forward(x[1:, 2:3], *matrices)
    close(together[1:, 2:3], alone, atol=1e-5, cause="Nothing here runs over tokens: only matrix products over the last dimension.")
    that(not torch.allclose(alone, torch.zeros_like(alone)), "the result is zero", cause="Is the last product returned?")


# --- decoder_block ---


@checks("decoder_block")
def test_block_like_the_kit(student, rng):
    """one layer, as the kit's own model computes it"""
    config = small_config(num_hidden_layers=1)
    weights = small_weights(rng, config)
    weights.lm_head, weights.norm = torch.eye(config.hidden_size), torch.ones(config.hidden_size)
    ids = torch.randint(0, config.vocab_size, (2, 5), generator=rng)
    got = student.decoder_block(weights.embed_tokens[ids], weights.layers[0], config, torch.arange(5))
    equal(list(got.shape), [2, 5, config.hidden_size], what="wrong shape")
    close(
        F.rms_norm(got, weights.norm.shape, weights.norm, config.rms_norm_eps),
        kit_model(config, weights)(ids),
        atol=1e-4,
        what="wrong values, compared after one more norm",
        cause="x + attention(norm(x)), then x + feed_forward(norm(x)), each norm with its own weight and with config's eps. "
        "Queries and keys turn, values do not; the base is config.rope_theta.",
    )


@checks("decoder_block")
def test_block_keeps_the_old(student, rng):
    """with attention and feed-forward switched off, the block returns its input"""
    config = small_config()
    layer = small_layer(rng, config)
    x, positions = torch.randn(2, 3, config.hidden_size, generator=rng), torch.arange(3)
    attention_out, feed_out = layer.o_proj, layer.down_proj
    layer.o_proj, layer.down_proj = torch.zeros_like(attention_out), torch.zeros_like(feed_out)
    close(
        student.decoder_block(x, layer, config, positions),
        x,
        atol=1e-6,
        cause="The block adds to x itself. If the norm is added instead, or stands around the sum, the old is lost.",
    )
    layer.o_proj = attention_out
    changed = student.decoder_block(x, layer, config, positions)
    that(not torch.allclose(changed, x), "attention adds nothing to x", cause="x = x + the merged heads times o_proj.")
    layer.o_proj, layer.down_proj = torch.zeros_like(attention_out), feed_out
    normed = F.rms_norm(x, x.shape[-1:], layer.post_attention_layernorm, config.rms_norm_eps)
    want = x + F.linear(F.silu(F.linear(normed, layer.gate_proj)) * F.linear(normed, layer.up_proj), feed_out)
    close(
        student.decoder_block(x, layer, config, positions),
        want,
        atol=1e-4,
        what="wrong values with attention switched off",
        cause="The feed-forward part reads x normed with post_attention_layernorm, and its result is added to x.",
    )


@checks("decoder_block")
def test_block_never_looks_ahead(student, rng):
    """changing a token changes nothing before it"""
    config = small_config()
    layer = small_layer(rng, config)
    x, positions = torch.randn(1, 5, config.hidden_size, generator=rng), torch.arange(5)
    before = student.decoder_block(x, layer, config, positions)
    x2 = x.clone()
    x2[:, 3] += 3.0
    after = student.decoder_block(x2, layer, config, positions)
    close(
        after[:, :3],
        before[:, :3],
        atol=1e-5,
        what="token 3 was changed, and results before it changed",
        cause="Attention needs the causal mask.",
    )
    that(
        not torch.allclose(after[:, 4], before[:, 4]),
        "token 3 was changed, and the result of token 4 did not change",
        cause="Token 4 reads token 3 through attention: is the mask the right way round?",
    )


@checks("decoder_block")
def test_block_uses_the_positions(student, rng):
    """positions for each row; only distances count"""
    config = small_config()
    layer = small_layer(rng, config)
    x = torch.randn(2, 4, config.hidden_size, generator=rng)
    near, wide = torch.tensor([0, 1, 2, 3]), torch.tensor([0, 2, 9, 11])
    plain = student.decoder_block(x, layer, config, near)
    spread = student.decoder_block(x, layer, config, wide)
    that(
        not torch.allclose(plain, spread, atol=1e-4),
        "other positions give the same result",
        cause="Pass `positions` on to rotary, for q and for k.",
    )
    close(
        student.decoder_block(x, layer, config, near + 6),
        plain,
        atol=1e-3,
        what="the result changed when all positions grew by 6",
        cause="Turn q and k, both, and nothing else: then only distances count.",
    )
    both = student.decoder_block(x, layer, config, torch.stack((near, wide)))
    close(
        both[0],
        plain[0],
        atol=1e-5,
        what="row 0 differs from the same row with positions (T,)",
        cause="Positions (B, T): each row has its own.",
    )
    close(
        both[1],
        spread[1],
        atol=1e-5,
        what="row 1 differs from the same row with positions (T,)",
        cause="Positions (B, T): each row has its own.",
    )


@checks("decoder_block")
def test_block_leaves_its_input(student, rng):
    """the input is not changed"""
    config = small_config()
    layer = small_layer(rng, config)
    x, positions = torch.randn(1, 3, config.hidden_size, generator=rng), torch.arange(3)
    first = student.decoder_block(x, layer, config, positions, _unchanged=True)
    close(student.decoder_block(x, layer, config, positions), first, atol=1e-6, what="a second call gives another result")
    that(not torch.allclose(first, x), "the block returns its input", cause="Is the sum assigned to x?")


# --- forward ---


@checks("forward")
def test_forward_tiny(student):
    """the model tiny: your logits are those of the kit"""
    model = load_model("tiny")
    ids = torch.tensor([model.tokenizer.encode("To be, or not to be, that is the question:")])
    close(
        student.forward(student.model("tiny"), ids),
        model(ids),
        atol=1e-3,
        cause="Embedding, all layers in order, the final norm, then the head: x @ lm_head.T. Positions count from 0.",
    )


@checks("forward")
def test_forward_small_untied(student, rng):
    """a model of two layers whose head is not its embedding"""
    config = small_config(tie_word_embeddings=False)
    weights = small_weights(rng, config)
    ids = torch.randint(0, config.vocab_size, (2, 6), generator=rng)
    close(
        student.forward(student.WeightsOnly(config, weights, None), ids),
        kit_model(config, weights)(ids),
        atol=1e-3,
        cause="The head is weights.lm_head, the last norm is weights.norm with config.rms_norm_eps; layers in the order of the list.",
    )


@checks("forward")
def test_forward_shape(student):
    """logits for every position of every row"""
    model = student.model("tiny")
    vocab_size = load_model("tiny").config.vocab_size
    for B, T in [(1, 1), (3, 4)]:
        ids = torch.arange(10, 10 + B * T).view(B, T)
        got = student.forward(model, ids, _unchanged=True)
        equal(list(got.shape), [B, T, vocab_size], what="wrong shape", cause="Keep all positions: the last one is chosen later.")
        close(got[:, 0], load_model("tiny")(ids)[:, 0], atol=1e-3, what="wrong logits at position 0")


@checks("forward")
def test_forward_rows(student, rng):
    """each row of a batch as if it were alone"""
    model = student.model("tiny")
    ids = torch.randint(3, 1000, (3, 7), generator=rng)
    together = student.forward(model, ids)
    for row in range(3):
        close(
            together[row],
            student.forward(model, ids[row : row + 1])[0],
            atol=1e-4,
            what=f"row {row} differs from the same row alone",
            cause="Positions count from 0 in every row, and no row may look at another.",
        )
    close(together, load_model("tiny")(ids), atol=1e-3)


@checks("forward")
def test_forward_prefix(student, rng):
    """appending tokens changes no earlier logits"""
    model = student.model("tiny")
    ids = torch.randint(3, 1000, (1, 9), generator=rng)
    whole, part = student.forward(model, ids), student.forward(model, ids[:, :5])
    close(whole[:, :5], part, atol=1e-4, cause="Each position may depend on itself and what stands before it only.")
    close(part, load_model("tiny")(ids[:, :5]), atol=1e-3)


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
