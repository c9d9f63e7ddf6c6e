"""Checks for attention that students may read: each says what is wrong and what probably caused it."""

import math

import torch
import torch.nn.functional as F

from autograder.authoring import checks, close, equal, that

# --- sinusoidal_positions ---


@checks("sinusoidal_positions")
def test_sinusoids_by_hand(student, hand):
    """rows 0 and 1 for D = 4, worked out by hand"""
    close(
        student.sinusoidal_positions(2, 4),
        hand["sinusoids_d4"]["rows"],
        atol=6e-5,
        cause="Columns 2i and 2i+1 hold sin and cos of the same angle, t / 10000^(2i/D): is 2i the even column's "
        "number, do sine and cosine alternate, and does t begin at 0?",
    )


@checks("sinusoidal_positions")
def test_sinusoids_shape(student):
    """one row for each position, one column for each dimension, float32"""
    for T, D in [(1, 2), (3, 8), (7, 4)]:
        got = student.sinusoidal_positions(T, D)
        equal(
            list(got.shape),
            [T, D],
            what=f"wrong shape for T={T}, D={D}",
            cause="Positions are rows, columns are dimensions.",
        )
        close(
            got[:, 0],
            torch.arange(T).sin(),
            dtype=torch.float32,
            atol=1e-5,
            cause="Column 0 is the sine of the position itself.",
        )


@checks("sinusoidal_positions")
def test_sinusoids_slow_columns(student):
    """each pair of columns turns more slowly than the one before"""
    got = student.sinusoidal_positions(50, 16)
    for pair in range(8):
        angle = 49 / 10000 ** (2 * pair / 16)
        close(
            got[49, 2 * pair : 2 * pair + 2],
            [math.sin(angle), math.cos(angle)],
            atol=1e-3,
            what=f"wrong sine and cosine in columns {2 * pair} and {2 * pair + 1} of row 49",
            cause="The exponent is 2i/D for pair i, from 0 to nearly 1. Both columns of a pair share it.",
        )


# --- rotary ---


@checks("rotary")
def test_rotary_unit_vector(student, hand):
    """(1, 0) at position 1"""
    case = hand["rotary_unit"]
    got = student.rotary(torch.tensor(case["x"]).view(1, 1, 1, 2), torch.tensor([case["position"]]))
    close(
        got,
        torch.tensor(case["turned"]).view(1, 1, 1, 2),
        atol=6e-5,
        cause="The pair (a, b) becomes (a cos - b sin, b cos + a sin): which sine has the minus sign?",
    )


@checks("rotary")
def test_rotary_pairs_halves(student, hand):
    """entry j turns together with entry j + Dh/2"""
    for name in ("rotary_one_pair", "rotary_two_pairs"):
        case = hand[name]
        got = student.rotary(torch.tensor(case["x"]).view(1, 1, 1, 4), torch.tensor([case["position"]]))
        close(
            got,
            torch.tensor(case["turned"]).view(1, 1, 1, 4),
            atol=6e-5,
            cause="Rotate-half pairs entry 0 with Dh/2, not with 1; pair j turns by position * base^(-2j/Dh).",
        )


@checks("rotary")
def test_rotary_base(student, hand):
    """the base sets the frequencies"""
    case = hand["rotary_base_100"]
    got = student.rotary(torch.tensor(case["x"]).view(1, 1, 1, 4), torch.tensor([case["position"]]), case["base"])
    close(
        got,
        torch.tensor(case["turned"]).view(1, 1, 1, 4),
        atol=6e-5,
        cause="The second of two pairs has frequency base^(-1/2): use the argument `base`, not 10000.",
    )


@checks("rotary")
def test_rotary_uses_the_positions_given(student, rng):
    """tokens are turned by the positions they are given, whatever their place in the tensor"""
    x = torch.randn(2, 3, 6, 8, generator=rng)
    whole = student.rotary(x, torch.arange(6))
    close(whole, _rotated(x, torch.arange(6)), atol=1e-4, cause="Compare with the pairs worked out by hand first.")
    tail = student.rotary(x[:, :, 4:], torch.tensor([4, 5]))
    close(
        tail,
        whole[:, :, 4:],
        atol=1e-4,
        what="tokens 4 and 5 alone are turned differently than in the whole sequence",
        cause="Use `positions` for the angles; the first token of the tensor need not stand at position 0.",
    )


@checks("rotary")
def test_rotary_positions_for_each_row(student, rng):
    """positions (B, T): each row of the batch has its own"""
    x = torch.randn(2, 3, 4, 6, generator=rng)
    positions = torch.tensor([[0, 1, 2, 3], [5, 6, 7, 9]])
    got = student.rotary(x, positions)
    for row in range(2):
        close(
            got[row],
            _rotated(x, positions[row])[row],
            atol=1e-4,
            what=f"wrong values in row {row} of the batch",
            cause="With positions (B, T) the angles are (B, T, Dh/2): give them an axis for the heads, at dimension 1.",
        )


@checks("rotary")
def test_rotary_scores_depend_on_distance(student, hand, rng):
    """the score of a query and a key depends on their distance only"""
    q, k = torch.randn(1, 1, 1, 16, generator=rng), torch.randn(1, 1, 1, 16, generator=rng)

    def score(query_at: int, key_at: int) -> torch.Tensor:
        turned_q, turned_k = student.rotary(q, torch.tensor([query_at])), student.rotary(k, torch.tensor([key_at]))
        return (turned_q * turned_k).sum()

    cause = "Query and key must turn by position times frequency, as a rotation: cosine and sine of the same angle."
    close(score(107, 104), score(7, 4), atol=2e-3, what="distance 3 gives two scores", cause=cause)
    that(abs(float(score(7, 4) - score(7, 6))) > 1e-3, "distances 3 and 1 give the same score", cause=cause)
    case = hand["rotary_scores"]
    unit = torch.tensor([1.0, 0.0]).view(1, 1, 1, 2)
    for (m, n), want in zip(case["positions"], case["scores"], strict=True):
        got = (student.rotary(unit, torch.tensor([m])) * student.rotary(unit, torch.tensor([n]))).sum()
        close(got, torch.tensor(want), atol=1e-3, what=f"wrong score of (1, 0) at {m} with (1, 0) at {n}", cause=cause)


@checks("rotary")
def test_rotary_leaves_its_input(student, rng):
    """the input is not changed"""
    x = torch.randn(1, 2, 3, 4, generator=rng)
    positions = torch.tensor([1, 2, 3])
    got = student.rotary(x, positions, _unchanged=True)
    close(
        got,
        _rotated(x, positions),
        atol=1e-4,
        cause="Writing into x[..., :half] writes into the caller's tensor: build a new one.",
    )


def _rotated(x: torch.Tensor, positions: torch.Tensor, base: float = 10000.0) -> torch.Tensor:
    """Each pair as a complex number, multiplied by one of length 1, in float64. positions (T,)."""
    half = x.shape[-1] // 2
    frequencies = torch.tensor([base ** (-2 * j / x.shape[-1]) for j in range(half)], dtype=torch.float64)
    angles = positions.to(torch.float64)[:, None] * frequencies
    pairs = torch.complex(x[..., :half].double(), x[..., half:].double())
    turned = pairs * torch.polar(torch.ones_like(angles), angles)
    return torch.cat((turned.real, turned.imag), dim=-1)


# --- causal_mask ---


@checks("causal_mask")
def test_mask_square(student):
    """as many queries as keys: each sees itself and everything before it"""
    for n in (1, 4):
        _mask(student, n, n, "Query i sees keys 0 to i, itself included; True means allowed.")


@checks("causal_mask")
def test_mask_two_of_five(student, hand):
    """two queries at the end of five keys"""
    case = hand["mask_two_of_five"]
    equal(
        student.causal_mask(case["q_len"], case["k_len"]),
        torch.tensor(case["mask"]),
        cause="The queries are the last of the positions: query i stands at k_len - q_len + i, not at i.",
    )
    _mask(student, case["q_len"], case["k_len"], "The mask is a bool tensor.")


@checks("causal_mask")
def test_mask_one_query(student):
    """one query at the end sees every key"""
    _mask(student, 1, 6, "A single new token stands after all the others and may see them all.")


@checks("causal_mask")
def test_mask_works_with_the_library(student):
    """torch's own attention accepts the mask"""
    torch.manual_seed(0)
    q, k, v = torch.randn(1, 1, 5, 4), torch.randn(1, 1, 5, 4), torch.randn(1, 1, 5, 4)
    mask = student.causal_mask(5, 5)
    _mask_kind(mask, 5, 5)
    close(
        F.scaled_dot_product_attention(q, k, v, attn_mask=mask),
        F.scaled_dot_product_attention(q, k, v, is_causal=True),
        atol=1e-5,
        what="with your mask, torch's attention is not causal",
        cause="True means that the query may see the key.",
    )


def _mask(student, q_len: int, k_len: int, cause: str) -> None:
    got = student.causal_mask(q_len, k_len)
    _mask_kind(got, q_len, k_len)
    want = torch.tensor([[j <= k_len - q_len + i for j in range(k_len)] for i in range(q_len)])
    equal(got, want, what=f"wrong mask for q_len={q_len}, k_len={k_len}", cause=cause)


def _mask_kind(mask, q_len: int, k_len: int) -> None:
    that(isinstance(mask, torch.Tensor), "the mask is not a tensor", cause="Return a bool tensor.")
    that(
        mask.dtype == torch.bool,
        "the mask is not of dtype bool",
        expected="torch.bool",
        got=str(mask.dtype),
        cause="A comparison gives bool; zeros and infinities do not.",
    )
    equal(list(mask.shape), [q_len, k_len], what="wrong shape of the mask", cause="Queries are rows, keys are columns.")


# --- split_heads, merge_heads ---


@checks("split_heads")
def test_split_by_hand(student, hand):
    """two tokens, two heads, worked out by hand"""
    case = hand["split_two_heads"]
    close(
        student.split_heads(torch.tensor([case["x"]]), case["num_heads"]),
        [case["heads"]],
        cause="Cut the last dimension into heads, then exchange tokens and heads. Reshaping straight to "
        "(B, H, T, Dh) mixes tokens.",
    )


@checks("split_heads")
def test_split_shape(student, rng):
    """(B, T, H*Dh) becomes (B, H, T, Dh)"""
    for B, T, H, Dh in [(2, 5, 3, 4), (1, 1, 4, 2), (3, 2, 1, 6)]:
        x = torch.randn(B, T, H * Dh, generator=rng)
        got = student.split_heads(x, H)
        equal(
            list(got.shape),
            [B, H, T, Dh],
            what="wrong shape",
            cause="`num_heads` counts heads; their width follows from it.",
        )
        close(got[:, 0, 0], x[:, 0, :Dh], cause="Head 0 of token 0 is the first Dh entries of that token.")


@checks("split_heads")
def test_split_each_head(student, rng):
    """head h gets entries h*Dh to (h+1)*Dh of each token"""
    x = torch.randn(2, 3, 12, generator=rng)
    got = student.split_heads(x, 4)
    for h in range(4):
        close(
            got[:, h],
            x[:, :, 3 * h : 3 * h + 3],
            what=f"wrong entries in head {h}",
            cause="Heads are contiguous pieces, not every H-th entry.",
        )


@checks("merge_heads")
def test_merge_by_hand(student, hand):
    """two tokens, two heads, put back together"""
    case = hand["split_two_heads"]
    close(
        student.merge_heads(torch.tensor([case["heads"]])),
        [case["x"]],
        cause="Exchange heads and tokens first, then flatten the last two dimensions.",
    )


@checks("merge_heads")
def test_merge_shape(student, rng):
    """(B, H, T, Dh) becomes (B, T, H*Dh)"""
    for B, H, T, Dh in [(2, 3, 5, 4), (1, 4, 1, 2), (3, 1, 2, 6)]:
        x = torch.randn(B, H, T, Dh, generator=rng)
        got = student.merge_heads(x)
        equal(
            list(got.shape),
            [B, T, H * Dh],
            what="wrong shape",
            cause="Every token gets all its heads, one after the other.",
        )
        close(got[:, -1, -Dh:], x[:, -1, -1], cause="The last Dh entries of the last token are its last head.")


@checks("merge_heads")
def test_merge_undoes_split(student, rng):
    """merging undoes splitting"""
    x = torch.randn(2, 5, 12, generator=rng)
    heads = x.view(2, 5, 3, 4).permute(0, 2, 1, 3)
    close(student.merge_heads(heads), x, cause="merge_heads must put every entry back where split_heads took it from.")


# --- attention ---


@checks("attention")
def test_attention_by_hand(student, hand):
    """three tokens of width 2, worked out by hand"""
    case = hand["three_tokens"]
    q, k, v = (_one_head(case[name]) for name in "qkv")
    close(
        student.attention(q, k, v),
        _one_head(case["output"]),
        atol=1.5e-4,
        cause="Scores are q . k over the root of Dh, here 1.4142; the softmax runs over the keys, the last dimension.",
    )


@checks("attention")
def test_attention_by_hand_masked(student, hand):
    """the same three tokens, with the causal mask"""
    case = hand["three_tokens"]
    q, k, v = (_one_head(case[name]) for name in "qkv")
    mask = torch.ones(3, 3, dtype=torch.bool).tril()
    close(
        student.attention(q, k, v, mask),
        _one_head(hand["three_tokens_causal"]["output"]),
        atol=1.5e-4,
        cause="Forbidden scores become -inf before the softmax, so that the others still sum to 1; True is allowed.",
    )


@checks("attention")
def test_attention_like_torch(student, rng):
    """random queries, keys and values, against torch's own attention"""
    q, k, v = _random(rng, 2, 3, 3, 4, 7, 8)
    mask = torch.ones(4, 7, dtype=torch.bool).tril(3)
    close(
        student.attention(q, k, v),
        F.scaled_dot_product_attention(q, k, v),
        atol=1e-4,
        cause="Without a mask every query sees every key. The scale is 1/sqrt(Dh), for any number of tokens or heads.",
    )
    close(
        student.attention(q, k, v, mask),
        F.scaled_dot_product_attention(q, k, v, attn_mask=mask),
        atol=1e-4,
        cause="A mask (Tq, Tk) holds for every row and every head.",
    )


@checks("attention")
def test_attention_groups_by_hand(student, hand):
    """four query heads, two key/value heads: which reads which"""
    case = hand["grouped_heads"]
    v = torch.tensor(case["values"]).view(1, 2, 1, 2)
    k = torch.ones(1, 2, 1, 2)
    q = torch.ones(1, case["num_heads"], 1, 2)
    close(
        student.attention(q, k, v),
        torch.tensor(case["output"]).view(1, 4, 1, 2),
        atol=1e-5,
        cause="Query heads 0 and 1 share key/value head 0, heads 2 and 3 share head 1: repeat_interleave, not repeat.",
    )


@checks("attention")
def test_attention_groups_like_torch(student, rng):
    """grouped heads, against torch's own attention"""
    for H, K in [(6, 2), (6, 3), (4, 1)]:
        q, k, v = _random(rng, 2, H, K, 3, 5, 4)
        close(
            student.attention(q, k, v),
            F.scaled_dot_product_attention(q, k, v, enable_gqa=True),
            atol=1e-4,
            what=f"wrong values with H={H} query heads and K={K} key/value heads",
            cause="Query head h uses key head and value head h // (H/K), the same for both.",
        )


@checks("attention")
def test_attention_never_looks_ahead(student, rng):
    """with the causal mask, changing a token changes no output before it"""
    q, k, v = _random(rng, 1, 2, 2, 6, 6, 4)
    mask = torch.ones(6, 6, dtype=torch.bool).tril()
    before = student.attention(q, k, v, mask)
    k2, v2 = k.clone(), v.clone()
    k2[:, :, 3] += 5.0
    v2[:, :, 3] -= 7.0
    after = student.attention(q, k2, v2, mask)
    close(
        after[:, :, :3],
        before[:, :, :3],
        atol=1e-5,
        what="token 3 was changed, and outputs before it changed too",
        cause="A masked score must not reach the softmax: its weight is exactly 0.",
    )
    that(
        not torch.allclose(after[:, :, 3:], before[:, :, 3:]),
        "token 3 was changed, and no output after it changed",
        cause="Queries 3, 4 and 5 may see token 3: are the values used, and is the mask the right way round?",
    )
    close(
        after,
        F.scaled_dot_product_attention(q, k2, v2, attn_mask=mask),
        atol=1e-4,
        cause="Forbidden scores become -inf before the softmax.",
    )


@checks("attention")
def test_attention_leaves_its_inputs(student, rng):
    """the inputs are not changed"""
    q, k, v = _random(rng, 1, 2, 2, 3, 3, 4)
    mask = torch.ones(3, 3, dtype=torch.bool).tril()
    got = student.attention(q, k, v, mask, _unchanged=True)
    close(
        got,
        F.scaled_dot_product_attention(q, k, v, attn_mask=mask),
        atol=1e-4,
        cause="`q /= ...` and `mask.logical_not_()` write into the caller's tensors.",
    )


def _one_head(rows: list[list[float]]) -> torch.Tensor:
    return torch.tensor(rows)[None, None]


def _random(rng: torch.Generator, B: int, H: int, K: int, Tq: int, Tk: int, Dh: int) -> tuple[torch.Tensor, ...]:
    q = torch.randn(B, H, Tq, Dh, generator=rng)
    k, v = (torch.randn(B, K, Tk, Dh, generator=rng) for _ in range(2))
    return q, k, v
