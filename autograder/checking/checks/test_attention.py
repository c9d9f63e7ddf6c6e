"""Visible checks for attention: each names the mistake, and its cause if the values show it."""

import math

import torch
import torch.nn.functional as F

from autograder.authoring import checks, close, equal, that
from autograder.checking.helpers.devices import stays_on_its_device

# --- sinusoidal_positions ---


@checks("sinusoidal_positions")
def test_sinusoids_by_hand(student, hand):
    """rows 0 and 1 for D = 4, worked out by hand"""
    rows = torch.tensor(hand["sinusoids_d4"]["rows"])
    close(
        student.sinusoidal_positions(2, 4),
        rows,
        atol=6e-5,
        suspects=[
            (rows[:, [1, 0, 3, 2]], "Sines belong in the even columns, cosines in the odd ones: here they are exchanged."),
            (rows[:, [0, 2, 1, 3]], "Sines and cosines alternate, column by column: here all sines come before all cosines."),
        ],
    )


@checks("sinusoidal_positions")
def test_sinusoids_shape(student):
    """the result has one row for each position, one column for each dimension, and dtype float32"""
    for T, D in [(1, 2), (3, 8), (7, 4)]:
        got = student.sinusoidal_positions(T, D)
        equal(list(got.shape), [T, D], what=f"wrong shape for T={T}, D={D}")
        close(got[:, 0], torch.arange(T).sin(), dtype=torch.float32, atol=1e-5, what="wrong values in column 0")


@checks("sinusoidal_positions")
def test_sinusoids_slow_columns(student):
    """pair i of the columns has the frequency 10000^(-2i/D): each pair is slower than the pair before"""
    for D in (16, 96):
        got = student.sinusoidal_positions(50, D)
        for pair in range(D // 2):
            angle = 49 / 10000 ** (2 * pair / D)
            close(
                got[49, 2 * pair : 2 * pair + 2],
                [math.sin(angle), math.cos(angle)],
                atol=1e-3,
                what=f"wrong sine and cosine in columns {2 * pair} and {2 * pair + 1} of row 49, {D} columns in all",
            )


@checks("sinusoidal_positions")
def test_sinusoids_of_a_long_text(student):
    """the last of 12,000 positions has the right sines and cosines"""
    got = student.sinusoidal_positions(12_000, 4)
    equal(list(got.shape), [12_000, 4], what="wrong shape")
    angles = torch.tensor([11_999.0, 119.99], dtype=torch.float64)
    close(got[-1], torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(), atol=2e-3)


# --- rotary ---


@checks("rotary")
def test_rotary_unit_vector(student, hand):
    """the vector (1, 0) at position 1 becomes (cos 1, sin 1)"""
    case = hand["rotary_unit"]
    turned = torch.tensor(case["turned"]).view(1, 1, 1, 2)
    close(
        student.rotary(torch.tensor(case["x"]).view(1, 1, 1, 2), torch.tensor([case["position"]])),
        turned,
        atol=6e-5,
        suspects=[
            (turned * torch.tensor([1, -1]), "It turns the other way: (a, b) becomes (a cos - b sin, b cos + a sin)."),
            (turned.flip(-1), "Sine and cosine are exchanged: (a, b) becomes (a cos - b sin, b cos + a sin)."),
        ],
    )


@checks("rotary")
def test_rotary_pairs_halves(student, hand):
    """entry j turns together with entry j + Dh/2"""
    neighbours = torch.tensor([0, 2, 1, 3])  # exchanges the two ways to pair four entries
    for name in ("rotary_two_pairs", "rotary_one_pair"):  # one pair alone does not show which entries were paired
        case = hand[name]
        x, at = torch.tensor(case["x"]).view(1, 1, 1, 4), torch.tensor([case["position"]])
        close(
            student.rotary(x, at),
            torch.tensor(case["turned"]).view(1, 1, 1, 4),
            atol=6e-5,
            suspects=[
                (_rotated(x[..., neighbours], at)[..., neighbours], "Neighbours are paired, 0 with 1: pair entry j with j + Dh/2."),
                (_rotated(x, -at), "It turns the other way: (a, b) becomes (a cos - b sin, b cos + a sin)."),
                (_rotated(x, at, 1e8), "Pair j turns by position * base^(-2j/Dh); here the exponent of pair 1 is -4/Dh."),
                (_rotated(x, at, 100.0), "Pair j turns by position * base^(-2j/Dh); here the 2 is missing."),
                (_rotated(x, at, 1.0), "Pair j turns by position * base^(-2j/Dh); here all pairs turn alike."),
                (_rotated(x, at, 1e-4), "Pair j turns by position * base^(-2j/Dh); here the minus is missing."),
            ],
        )


@checks("rotary")
def test_rotary_base(student, hand):
    """the argument base sets the frequencies, also if base is an int"""
    case = hand["rotary_base_100"]
    x, at = torch.tensor(case["x"]).view(1, 1, 1, 4), torch.tensor([case["position"]])
    close(
        student.rotary(x, at, case["base"]),
        torch.tensor(case["turned"]).view(1, 1, 1, 4),
        atol=6e-5,
        suspects=[(_rotated(x, at), "These are the values with base 10000; the base that is given is 100.")],
    )
    turned = _rotated(x, at, 500_000.0)
    close(student.rotary(x, at, 500_000), turned, atol=1e-4, what="wrong values with the int 500000 as base, as a config file may have it")


@checks("rotary")
def test_rotary_uses_the_positions_given(student, rng):
    """tokens are turned by the given positions, not by their index in the tensor"""
    x = torch.randn(2, 3, 6, 8, generator=rng)
    whole = student.rotary(x, torch.arange(6))
    close(whole, _rotated(x, torch.arange(6)), atol=1e-4)
    close(
        student.rotary(x[:, :, 4:], torch.tensor([4, 5])),
        whole[:, :, 4:],
        atol=1e-4,
        what="tokens 4 and 5 alone are turned differently than in the whole sequence",
        suspects=[(_rotated(x[:, :, 4:], torch.arange(2)), "They are turned by 0 and 1, as if the first of them stood at position 0.")],
    )
    square, at = x[:, :, :3], torch.tensor([7, 2, 4])
    close(
        student.rotary(square, at),
        _rotated(square, at),
        atol=1e-4,
        what="wrong values for three heads and three tokens at 7, 2 and 4",
        suspects=[
            (_rotated(square.transpose(1, 2), at).transpose(1, 2), "The positions run along the heads: they are those of the tokens.")
        ],
    )


@checks("rotary")
def test_rotary_positions_for_each_row(student, rng):
    """positions (B, T): each row of the batch is turned by its own positions, and all heads of a row alike"""
    apart = torch.tensor([[2, 3, 5, 6], [5, 6, 7, 9], [4, 8, 15, 16]])
    alike_at_first = torch.tensor([[3, 4, 5, 6], [3, 7, 9, 10]])
    for positions in (apart[:2], apart, alike_at_first, torch.tensor([[4], [11]])):
        (B, T), H = positions.shape, 3
        x = torch.randn(B, H, T, 6, generator=rng)
        along_heads = torch.cat([_rotated(x[:, h : h + 1], positions[h]) for h in range(H)], dim=1) if B == H else x
        close(
            student.rotary(x, positions),
            torch.cat([_rotated(x[row : row + 1], positions[row]) for row in range(B)]),
            atol=1e-4,
            what=f"wrong values for the positions {positions.tolist()}",
            suspects=[
                (_rotated(x, positions[0]), "All rows are turned by the positions of row 0."),
                (along_heads, "The rows of the positions lie along the heads: the angles need a dimension of size 1 for the heads."),
            ],
        )


@checks("rotary")
def test_rotary_scores_depend_on_distance(student, hand, rng):
    """the score of a query and a key depends on their distance only"""
    q, k = torch.randn(1, 1, 1, 16, generator=rng), torch.randn(1, 1, 1, 16, generator=rng)

    def score(query_at: int, key_at: int) -> torch.Tensor:
        turned_q, turned_k = student.rotary(q, torch.tensor([query_at])), student.rotary(k, torch.tensor([key_at]))
        return (turned_q * turned_k).sum()

    close(score(107, 104), score(7, 4), atol=2e-3, what="distance 3 gives two scores")
    that(abs(float(score(7, 4) - score(7, 6))) > 1e-3, "distances 3 and 1 give the same score")
    case = hand["rotary_scores"]
    unit = torch.tensor([1.0, 0.0]).view(1, 1, 1, 2)
    for (m, n), want in zip(case["positions"], case["scores"], strict=True):
        got = (student.rotary(unit, torch.tensor([m])) * student.rotary(unit, torch.tensor([n]))).sum()
        close(got, torch.tensor(want), atol=1e-3, what=f"wrong score of q = (1, 0) at position {m} with k = (1, 0) at position {n}")


@checks("rotary")
def test_rotary_far_in_half_precision(student, rng):
    """position 257 in bfloat16 and 2049 in float16: the angles are not rounded, and the result has the dtype of x"""
    for dtype, position in ((torch.bfloat16, 257), (torch.float16, 2049)):
        rounded = int(torch.tensor(position, dtype=dtype))
        sixths = torch.ones(1, 2, 1, 12)  # the exponents of 12 entries are sixths, which no half precision has exactly
        for x in (torch.randn(1, 2, 1, 8, generator=rng).clamp(-2, 2).to(dtype), sixths.to(dtype)):
            close(
                student.rotary(x, torch.tensor([position])),
                _rotated(x, torch.tensor([position])),
                atol=0.03,
                dtype=dtype,
                what=f"wrong values at position {position} in {str(dtype).removeprefix('torch.')}, {x.shape[-1]} entries a head",
                suspects=[
                    (
                        _rotated(x, torch.tensor([rounded])).to(dtype),
                        f"It is turned by {rounded}, to which this dtype rounds {position}.",
                    )
                ],
            )


@checks("rotary")
def test_rotary_wide_and_far(student, rng):
    """heads of 160 entries, and positions up to 70,000, give the right values"""
    x, at = torch.randn(1, 2, 3, 160, generator=rng), torch.tensor([1, 5, 40])
    close(student.rotary(x, at), _rotated(x, at), atol=5e-4, what="wrong values for heads of 160 entries")
    x = torch.randn(1, 2, 1, 8, generator=rng).clamp(-2, 2)
    for position in (20_000, 70_000):
        at = torch.tensor([position])
        close(student.rotary(x, at), _rotated(x, at), atol=0.02, what=f"wrong values at position {position}")


@checks("rotary")
def test_rotary_of_split_heads(student, rng):
    """a transposed tensor, as from split_heads, and a vector expanded to many positions give the right values"""
    at = torch.arange(5)
    split = torch.randn(2, 5, 3, 8, generator=rng).transpose(1, 2)
    close(student.rotary(split, at, _unchanged=True), _rotated(split, at), atol=1e-4, what="wrong values for a transposed tensor")
    expanded = torch.randn(1, 1, 1, 8, generator=rng).expand(1, 1, 5, 8)
    close(student.rotary(expanded, at), _rotated(expanded, at), atol=1e-4, what="wrong values for an expanded tensor")


@checks("rotary")
def test_rotary_leaves_its_input(student, rng):
    """the input is not changed"""
    for positions in (torch.tensor([1, 2, 3]), torch.tensor([[1, 2, 3], [4, 6, 8]])):
        for dtype in (torch.float32, torch.float64):
            x = torch.randn(len(positions) if positions.dim() == 2 else 1, 2, 3, 4, generator=rng).to(dtype)
            rows = [_rotated(x[i : i + 1], at) for i, at in enumerate(positions.expand(len(x), 3))]
            close(student.rotary(x, positions, _unchanged=True), torch.cat(rows), atol=1e-4)


@checks("rotary")
def test_rotary_stays_on_its_device(student, rng):
    """every tensor is made on the device of x"""
    x, at = torch.randn(2, 3, 4, 6, generator=rng), torch.tensor([0, 1, 2, 5])
    close(student.rotary(x, at), _rotated(x, at), atol=1e-4)
    for positions in (at, at.expand(2, 4)):
        stays_on_its_device(student.rotary, x, positions, shape=(2, 3, 4, 6))


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
    """as many queries as keys: each query sees its own position and all positions before"""
    for n in (4, 2, 1):
        _mask(student, n, n)


@checks("causal_mask")
def test_mask_two_of_five(student, hand):
    """two queries at the end of five keys: the first query sees four keys, the second query all five"""
    case = hand["mask_two_of_five"]
    _mask(student, case["q_len"], case["k_len"])


@checks("causal_mask")
def test_mask_one_query(student):
    """one query at the end sees every key"""
    _mask(student, 1, 6)


@checks("causal_mask")
def test_mask_of_a_long_text(student):
    """the mask is right for 1 to 3 queries at the end of up to 5,000 keys, and for 1,200 queries at the end of 1,300 keys"""
    _mask(student, 3, 2051)
    _mask(student, 1, 5000)
    _mask(student, 1200, 1300)


@checks("causal_mask")
def test_mask_works_with_the_library(student):
    """torch's own attention accepts the mask and becomes causal"""
    torch.manual_seed(0)
    q, k, v = torch.randn(1, 1, 5, 4), torch.randn(1, 1, 5, 4), torch.randn(1, 1, 5, 4)
    mask = student.causal_mask(5, 5)
    _mask_kind(mask, 5, 5)
    causal, hidden = (F.scaled_dot_product_attention(q, k, v, attn_mask=m) for m in (_allowed(5, 5), ~_allowed(5, 5)))
    close(
        F.scaled_dot_product_attention(q, k, v, attn_mask=mask),
        causal,
        atol=1e-5,
        what="with your mask, torch's attention is not causal",
        suspects=[(hidden, "True marks the keys that a query must not see: it means that the query may see the key.")],
    )


def _mask(student, q_len: int, k_len: int) -> None:
    got = student.causal_mask(q_len, k_len)
    _mask_kind(got, q_len, k_len)
    want = _allowed(q_len, k_len)
    equal(
        got,
        want,
        what=f"wrong mask for q_len={q_len}, k_len={k_len}",
        suspects=[
            (~want, "True and False are exchanged: True means that the query may see the key."),
            (_allowed(q_len, k_len, first=0), "Query i is placed at position i; its position is k_len - q_len + i."),
            (_allowed(q_len, k_len, first=k_len - q_len - 1), "A query does not see itself here."),
            (_allowed(q_len, k_len, first=k_len - q_len + 1), "A query sees one key after itself here."),
            (torch.ones(q_len, k_len), "Every query sees every key here."),
        ],
    )


def _allowed(q_len: int, k_len: int, first: int | None = None) -> torch.Tensor:
    """The mask of queries that stand at `first` and after; by default they are the last."""
    return torch.ones(q_len, k_len, dtype=torch.bool).tril(k_len - q_len if first is None else first)


def _mask_kind(mask, q_len: int, k_len: int) -> None:
    that(isinstance(mask, torch.Tensor), "the mask is not a tensor", cause="Return a bool tensor.")
    that(mask.dtype == torch.bool, "the mask is not of dtype bool", expected="torch.bool", got=str(mask.dtype))
    equal(list(mask.shape), [q_len, k_len], what="wrong shape of the mask")


# --- split_heads, merge_heads ---


@checks("split_heads")
def test_split_by_hand(student, hand):
    """two tokens, two heads, worked out by hand"""
    case = hand["split_two_heads"]
    x = torch.tensor([case["x"]])
    straight = x.reshape(1, case["num_heads"], 2, 2)
    close(
        student.split_heads(x, case["num_heads"]),
        [case["heads"]],
        suspects=[
            (
                straight,
                "This is x reshaped straight to (B, H, T, Dh), which mixes tokens: cut, then exchange.",
            )
        ],
    )


@checks("split_heads")
def test_split_shape(student, rng):
    """(B, T, H*Dh) becomes (B, H, T, Dh)"""
    for B, T, H, Dh in [(2, 5, 3, 4), (3, 1, 4, 2), (3, 2, 1, 6), (1, 70, 2, 3), (1, 2, 4, 32)]:
        x = torch.randn(B, T, H * Dh, generator=rng)
        got = student.split_heads(x, H)
        equal(list(got.shape), [B, H, T, Dh], what=f"wrong shape for B={B}, T={T}, H={H}, Dh={Dh}")
        close(got[:, 0, 0], x[:, 0, :Dh], what="head 0 of token 0 is not the first Dh entries of that token")


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
            suspects=[(x[:, :, h::4], "This head has every fourth entry: heads are contiguous pieces.")],
        )


@checks("split_heads")
def test_split_keeps_dtype_and_input(student, rng):
    """the dtype and every value are kept exactly, and x is not changed, also if x is transposed or contains inf"""
    for dtype in (torch.float64, torch.bfloat16):
        straight, other = (torch.randn(*size, 8, generator=rng, dtype=torch.float64).to(dtype) for size in ((2, 3), (3, 2)))
        for x in (straight, other.transpose(0, 1)):
            got = student.split_heads(x, 2, _unchanged=True)
            close(got, torch.stack(x.split(4, dim=-1), dim=1), atol=0.0, rtol=0.0, dtype=dtype)
    x[0, 1, 2], x[1, 2, 5] = math.inf, -math.inf
    close(student.split_heads(x, 2), torch.stack(x.split(4, dim=-1), dim=1), what="wrong values where two entries of x are infinite")


@checks("merge_heads")
def test_merge_by_hand(student, hand):
    """two heads of two tokens are put back side by side, worked out by hand"""
    case = hand["split_two_heads"]
    x = torch.tensor([case["heads"]])
    straight = x.reshape(1, 2, 4)
    close(
        student.merge_heads(x),
        [case["x"]],
        suspects=[(straight, "These are the numbers of x, reshaped straight to (B, T, H*Dh): exchange heads and tokens first.")],
    )


@checks("merge_heads")
def test_merge_shape(student, rng):
    """(B, H, T, Dh) becomes (B, T, H*Dh)"""
    for B, H, T, Dh in [(2, 3, 5, 4), (2, 4, 1, 3), (3, 1, 2, 6), (1, 2, 70, 3)]:
        x = torch.randn(B, H, T, Dh, generator=rng)
        got = student.merge_heads(x)
        equal(list(got.shape), [B, T, H * Dh], what=f"wrong shape for B={B}, H={H}, T={T}, Dh={Dh}")
        close(got[:, -1, -Dh:], x[:, -1, -1], what="the last Dh entries of the last token are not its last head")


@checks("merge_heads")
def test_merge_undoes_split(student, rng):
    """merge_heads is the inverse of split_heads"""
    x = torch.randn(2, 5, 12, generator=rng)
    heads = x.view(2, 5, 3, 4).permute(0, 2, 1, 3)
    close(student.merge_heads(heads), x)


@checks("merge_heads")
def test_merge_keeps_dtype_and_input(student, rng):
    """the dtype and every value are kept exactly, and x is not changed, also if x contains inf"""
    for dtype in (torch.float64, torch.bfloat16):
        x = torch.randn(2, 3, 5, 4, generator=rng, dtype=torch.float64).to(dtype)
        close(student.merge_heads(x, _unchanged=True), torch.cat(x.unbind(1), dim=-1), atol=0.0, rtol=0.0, dtype=dtype)
    x[0, 1, 2, 3], x[1, 2, 4, 0] = math.inf, -math.inf
    close(student.merge_heads(x), torch.cat(x.unbind(1), dim=-1), what="wrong values where two entries of x are infinite")


# --- attention ---


@checks("attention")
def test_attention_by_hand(student, hand):
    """three tokens of width 2 without a mask, worked out by hand"""
    case = hand["three_tokens"]
    q, k, v = (_one_head(case[name]) for name in "qkv")
    scores = q @ k.mT
    close(
        student.attention(q, k, v),
        _one_head(case["output"]),
        atol=1.5e-4,
        suspects=[
            (scores.softmax(-1) @ v, "The scores are not divided by the root of Dh, here 1.4142."),
            ((scores / 2).softmax(-1) @ v, "The scores are divided by Dh, here 2; divide by its root, 1.4142."),
            (
                (scores / 2**0.5).softmax(-2) @ v,
                "The softmax runs over the queries; it should run over the keys, the last dimension.",
            ),
            ((scores / 2**0.5).softmax(-1), "These are the weights; the average of the values with them is still to come."),
            (scores / 2**0.5 @ v, "The scores are used as weights without the softmax."),
        ],
    )


@checks("attention")
def test_attention_by_hand_masked(student, hand):
    """three tokens of width 2 with the causal mask, worked out by hand"""
    case = hand["three_tokens"]
    q, k, v = (_one_head(case[name]) for name in "qkv")
    mask = torch.ones(3, 3, dtype=torch.bool).tril()
    scores = q @ k.mT / 2**0.5
    close(
        student.attention(q, k, v, mask),
        _one_head(hand["three_tokens_causal"]["output"]),
        atol=1.5e-4,
        suspects=[
            (scores.softmax(-1) @ v, "This is the result without a mask."),
            ((scores.softmax(-1) * mask) @ v, "The mask comes after the softmax, and the weights that are left do not sum to 1."),
            ((scores * mask).softmax(-1) @ v, "Hidden scores are 0 here, an ordinary score: -inf alone gets no weight."),
            ((scores + mask).softmax(-1) @ v, "The mask is added to the scores, which hides nothing."),
        ],
    )


@checks("attention")
def test_attention_like_torch(student, rng):
    """random queries, keys and values, with and without a mask, give the same result as torch's own attention"""
    for Tq, Tk, Dh in ((4, 7, 8), (1, 5, 8), (6, 3, 8), (3, 5, 96), (150, 150, 8)):
        q, k, v = _random(rng, 2, 3, 3, Tq, Tk, Dh)
        mask = torch.ones(Tq, Tk, dtype=torch.bool).tril(max(Tk - Tq, 0))
        plain = F.scaled_dot_product_attention(q, k, v)
        sizes = f"{Tq} queries and {Tk} keys, {Dh} entries a head"
        close(student.attention(q, k, v), plain, atol=1e-4, what=f"wrong values without a mask, {sizes}")
        close(
            student.attention(q, k, v, mask),
            F.scaled_dot_product_attention(q, k, v, attn_mask=mask),
            atol=1e-4,
            what=f"wrong values with a mask, {sizes}",
        )


@checks("attention")
def test_attention_values_of_another_width(student, rng):
    """values narrower or wider than the keys: the output is as wide as the values"""
    for width in (3, 10):
        q, k, _ = _random(rng, 2, 4, 2, 3, 5, 6)
        v = torch.randn(2, 2, 5, width, generator=rng)
        weights = (q @ k.repeat_interleave(2, dim=1).mT / 6**0.5).softmax(-1)
        by_values = (q @ k.repeat_interleave(2, dim=1).mT / width**0.5).softmax(-1)
        wide = v.repeat_interleave(2, dim=1)
        close(
            student.attention(q, k, v),
            weights @ wide,
            atol=1e-4,
            what=f"wrong values where the keys are 6 wide and the values {width}",
            suspects=[(by_values @ wide, "The scores are divided by the root of the values' width; Dh is that of queries and keys.")],
        )


@checks("attention")
def test_attention_groups_by_hand(student, hand):
    """four query heads, two key/value heads: query heads 0 and 1 read key/value head 0, query heads 2 and 3 read head 1"""
    case = hand["grouped_heads"]
    v = torch.tensor(case["values"]).view(1, 2, 1, 2)
    k = torch.ones(1, 2, 1, 2)
    q = torch.ones(1, case["num_heads"], 1, 2)
    close(
        student.attention(q, k, v),
        torch.tensor(case["output"]).view(1, 4, 1, 2),
        atol=1e-5,
        suspects=[
            (
                v.repeat(1, 2, 1, 1),
                "Query head h reads value head h % K here; it should be h // (H/K).",
            )
        ],
    )


@checks("attention")
def test_attention_groups_like_torch(student, rng):
    """grouped heads give the same result as torch's own attention"""
    for H, K in [(6, 2), (6, 3), (4, 1), (6, 1)]:
        q, k, v = _random(rng, 2, H, K, 3, 5, 4)
        close(
            student.attention(q, k, v),
            F.scaled_dot_product_attention(q, k, v, enable_gqa=True),
            atol=1e-4,
            what=f"wrong values with H={H} query heads and K={K} key/value heads",
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
    close(after[:, :, :3], before[:, :, :3], atol=1e-5, what="token 3 was changed, and outputs before it changed too")
    that(not torch.allclose(after[:, :, 3:], before[:, :, 3:]), "token 3 was changed, and no output after it changed")
    close(after, F.scaled_dot_product_attention(q, k2, v2, attn_mask=mask), atol=1e-4)


@checks("attention")
def test_attention_mask_for_rows_and_heads(student, rng):
    """a mask (B, 1, Tq, Tk) applies per row of the batch, and a mask (1, H, Tq, Tk) per query head"""
    q, k, v = _random(rng, 4, 4, 2, 3, 5, 4)
    masks = torch.ones(4, 3, 5, dtype=torch.bool)
    for index, hidden in enumerate((0, 1, 3, 4)):
        masks[index, :, hidden] = False
    for dim, of in ((1, "row"), (0, "query head")):
        mask, other = masks.unsqueeze(dim), masks.unsqueeze(1 - dim)
        close(
            student.attention(q, k, v, mask),
            F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True),
            atol=1e-4,
            what=f"wrong values with a mask for each {of}, of shape {tuple(mask.shape)}",
            suspects=[
                (
                    F.scaled_dot_product_attention(q, k, v, attn_mask=other, enable_gqa=True),
                    "Rows and heads of the mask are exchanged: its first dimension is the batch, its second the query heads.",
                ),
                (
                    F.scaled_dot_product_attention(q, k, v, attn_mask=masks[:1, None], enable_gqa=True),
                    f"The mask of the first {of} is used for all.",
                ),
            ],
        )


@checks("attention")
def test_attention_masks_of_fewer_dimensions(student, rng):
    """a mask (Tk,) or (1, Tk) applies to all queries, a mask (H, Tq, Tk) per query head, and a mask (Tq, Tk) per query"""
    q, k, v = _random(rng, 4, 4, 2, 3, 5, 4)
    keys = torch.tensor([True, False, True, True, False])
    heads = torch.ones(4, 3, 5, dtype=torch.bool)
    for head, hidden in enumerate((0, 1, 3, 4)):
        heads[head, :, hidden] = False
    for mask in (keys, keys[None], heads):
        whole = mask.expand(4, 4, 3, 5)
        close(
            student.attention(q, k, v, mask),
            F.scaled_dot_product_attention(q, k, v, attn_mask=whole, enable_gqa=True),
            atol=1e-4,
            what=f"wrong values with a mask of shape {tuple(mask.shape)}",
            suspects=[
                (
                    F.scaled_dot_product_attention(q, k, v, attn_mask=whole.transpose(0, 1), enable_gqa=True),
                    "The first of the mask's three dimensions is taken for the rows of the batch: it is that of the query heads.",
                )
            ],
        )
    q, k, v = _random(rng, 1, 1, 1, 4, 400, 4)
    window = torch.ones(400, 400, dtype=torch.bool).tril().triu(-9)[99::100]  # no key of the last query's is one of another query's
    want = F.scaled_dot_product_attention(q, k, v, attn_mask=window)
    close(student.attention(q, k, v, window), want, atol=1e-4, what="wrong values where each query sees ten keys of its own")


@checks("attention")
def test_attention_scores_and_weights_of_any_size(student):
    """a query with scores in the hundreds does not change the result of another query; a weight of 3e-7 is not lost"""
    q, k = torch.tensor([[[[1000.0, 0.0], [0.0, 1.0]]]]), torch.tensor([[[[1.0, 0.0], [0.5, 1.0]]]])
    v = torch.tensor([[[[1.0, 0.0], [0.0, 1.0]]]])
    close(
        student.attention(q, k, v),
        F.scaled_dot_product_attention(q.double(), k.double(), v.double()),
        atol=1e-5,
        what="wrong values where the scores of one query are 707 and 354, and those of the other 0 and 0.707",
    )
    q, k = torch.ones(1, 1, 1, 1), torch.tensor([[[[0.0], [-15.0]]]])
    v = torch.tensor([[[[0.0, 1.0], [1e7, 0.0]]]])
    close(
        student.attention(q, k, v),
        torch.tensor([[[[math.exp(-15) * 1e7, 1.0]]]]),
        atol=0.0,
        rtol=1e-3,
        what="wrong values where a key of weight 3e-7 has a value of 1e7",
    )


@checks("attention")
def test_attention_hides_completely(student):
    """a hidden key gets weight 0, however low the scores of the visible keys"""
    q, v = torch.tensor([[[[300.0, 0.0]]]]), torch.tensor([[[[1.0, 0.0], [0.0, 1.0], [7.0, 7.0]]]])
    k = torch.tensor([[[[-100.0, 0.0], [-99.99, 0.0], [0.0, 1.0]]]])
    mask = torch.tensor([[True, True, False]])
    close(
        student.attention(q, k, v, mask),
        F.scaled_dot_product_attention(q.double(), k.double(), v.double(), attn_mask=mask),
        atol=2e-2,
        suspects=[
            (
                v[:, :, 2:],
                "The key that the mask hides has all the weight.",
            )
        ],
    )


@checks("attention")
def test_attention_of_split_heads(student, rng):
    """transposed queries, keys and values, as from split_heads, give the right result"""
    q, k, v = (torch.randn(2, t, heads, 8, generator=rng).transpose(1, 2) for t, heads in ((3, 4), (5, 2), (5, 2)))
    close(student.attention(q, k, v), F.scaled_dot_product_attention(q, k, v, enable_gqa=True), atol=1e-4)


@checks("attention")
def test_attention_keeps_the_dtype(student, rng):
    """the result has the dtype of the inputs, float64 or bfloat16, and the precision of that dtype"""
    mask = torch.ones(3, 3, dtype=torch.bool).tril()
    for dtype, atol in ((torch.float64, 1e-10), (torch.bfloat16, 0.05)):
        q, k, v = (t.clamp(-2, 2).to(dtype) for t in _random(rng, 1, 2, 1, 3, 3, 4))
        want = F.scaled_dot_product_attention(q.double(), k.double(), v.double(), attn_mask=mask, enable_gqa=True)
        what = f"wrong values in {str(dtype).removeprefix('torch.')}, where {atol:g} is allowed"
        close(student.attention(q, k, v, mask), want, atol=atol, rtol=atol, dtype=dtype, what=what)


@checks("attention")
def test_attention_leaves_its_inputs(student, rng):
    """the inputs are not changed"""
    for H, K, T in ((2, 2, 3), (4, 2, 3), (2, 1, 1)):
        q, k, v = _random(rng, 2, H, K, T, T, 4)
        plain = F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
        close(student.attention(q, k, v, _unchanged=True), plain, atol=1e-4)
        causal = torch.ones(T, T, dtype=torch.bool).tril()
        for_rows = torch.stack((causal, torch.ones(T, T, dtype=torch.bool)))[:, None]
        for mask in (causal, for_rows):
            want = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)
            close(student.attention(q, k, v, mask, _unchanged=True), want, atol=1e-4)


@checks("attention")
def test_attention_stays_on_its_device(student, rng):
    """every tensor is made on the device of the inputs"""
    q, k, v = _random(rng, 1, 4, 2, 3, 5, 4)
    mask = torch.ones(3, 5, dtype=torch.bool).tril(2)
    close(student.attention(q, k, v, mask), F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True), atol=1e-4)
    for given in ((q, k, v), (q, k, v, mask)):
        stays_on_its_device(student.attention, *given, shape=(1, 4, 3, 4))


def _one_head(rows: list[list[float]]) -> torch.Tensor:
    return torch.tensor(rows)[None, None]


def _random(rng: torch.Generator, B: int, H: int, K: int, Tq: int, Tk: int, Dh: int) -> tuple[torch.Tensor, ...]:
    q = torch.randn(B, H, Tq, Dh, generator=rng)
    k, v = (torch.randn(B, K, Tk, Dh, generator=rng) for _ in range(2))
    return q, k, v
