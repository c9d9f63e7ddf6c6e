"""Hidden checks for attention: fresh random inputs, edges and combinations."""

import math

import torch
import torch.nn.functional as F

from autograder.authoring import checks, close, equal, that

# --- sinusoidal_positions ---


@checks("sinusoidal_positions", weight=2)
def test_sinusoids_everywhere(student, rng):
    """every row and every column has the right sine or cosine, for random T and D"""
    for T, D in [(_pick(rng, 2, 40), 2 * _pick(rng, 1, 20)) for _ in range(3)] + [(5, 2), (1, 6), (3, 200)]:
        want = torch.zeros(T, D, dtype=torch.float64)
        for t in range(T):
            for i in range(D // 2):
                angle = t / 10000 ** (2 * i / D)
                want[t, 2 * i], want[t, 2 * i + 1] = math.sin(angle), math.cos(angle)
        close(
            student.sinusoidal_positions(T, D),
            want,
            atol=1e-3,
            dtype=torch.float32,
            what=f"wrong values for T={T}, D={D}",
        )


@checks("sinusoidal_positions")
def test_sinusoids_row_does_not_depend_on_length(student, rng):
    """the vector of a position does not depend on T, the number of positions"""
    T, D = _pick(rng, 5, 30), 2 * _pick(rng, 2, 8)
    long, short = student.sinusoidal_positions(T + 7, D), student.sinusoidal_positions(T, D)
    equal(list(short.shape), [T, D], what="wrong shape")
    close(
        short,
        long[:T],
        atol=1e-5,
    )
    last = (T - 1) * 10000 ** (-(D - 2) / D)
    close(
        short[-1, -2:],
        [math.sin(last), math.cos(last)],
        atol=1e-4,
    )


@checks("sinusoidal_positions")
def test_sinusoids_far_out(student):
    """the last of 5,000 positions has the right sines and cosines"""
    got = student.sinusoidal_positions(5000, 8)
    equal(list(got.shape), [5000, 8], what="wrong shape")
    angles = [4999 / 10000 ** (2 * i / 8) for i in range(4)]
    want = torch.tensor([f(a) for a in angles for f in (math.sin, math.cos)], dtype=torch.float64)
    close(got[-1], want, atol=5e-3)


# --- rotary ---


@checks("rotary", weight=2)
def test_rotary_random(student, rng):
    """random vectors at random positions are turned by the right angles, for any base"""
    for width in (2 * _pick(rng, 2, 8), 2 * _pick(rng, 2, 8), 80, 160):
        B, H, T, Dh = _pick(rng, 1, 3), _pick(rng, 1, 4), _pick(rng, 2, 6), width
        x = torch.randn(B, H, T, Dh, generator=rng)
        positions = torch.randint(0, 60, (T,), generator=rng)
        base = float(_pick(rng, 50, 200_000))
        close(
            student.rotary(x, positions, base),
            _rotated(x, positions[None], base),
            atol=5e-4,
            what=f"wrong values with base {base:g}",
        )
        close(
            student.rotary(x, positions),
            _rotated(x, positions[None]),
            atol=5e-4,
            what="wrong values with the default base",
        )
    whole = student.rotary(x, positions, 100_000)  # as a config file may have it
    close(whole, _rotated(x, positions[None], 100_000.0), atol=5e-4, what="wrong values with the int 100000 as base")


@checks("rotary")
def test_rotary_far_out(student, rng):
    """positions up to the end of SmolLM2's context, also in float16, and positions far beyond give the right values"""
    x = torch.randn(1, 2, 5, 8, generator=rng).clamp(-2, 2)
    positions = torch.tensor([2047, 2048, 2049, 4097, 8191])
    close(student.rotary(x, positions), _rotated(x, positions[None]), atol=3e-3)
    for beyond in (8192, 33_001, 100_003):
        far = torch.tensor([beyond])
        close(student.rotary(x[:, :, :1], far), _rotated(x[:, :, :1], far[None]), atol=0.02, what=f"wrong values at position {beyond}")
    low = x.half()
    close(student.rotary(low, positions), _rotated(low, positions[None]), atol=0.02, dtype=torch.float16)


@checks("rotary", weight=2)
def test_rotary_rows_and_heads(student, rng):
    """positions (B, T) are applied per row, also for B = H, B = T and B = 1"""
    for B, H, T in [(3, 3, 4), (2, 5, 2), (1, 2, 3), (4, 4, 4), (2, 1, 3)]:
        x = torch.randn(B, H, T, 8, generator=rng)
        positions = torch.randint(0, 50, (B, T), generator=rng)
        positions[:, 0] = 3  # rows that begin alike and go on apart
        close(
            student.rotary(x, positions),
            _rotated(x, positions),
            atol=5e-4,
            what=f"wrong values for B={B}, H={H}, T={T} and positions (B, T)",
        )
        in_columns = positions.t().contiguous().t()
        close(student.rotary(x, in_columns), _rotated(x, positions), atol=5e-4, what="wrong values for positions that lie in columns")


@checks("rotary")
def test_rotary_same_for_heads_and_rows(student, rng):
    """positions (T,): all rows and heads are turned by the same angles"""
    for B, H, T in [(3, 4, 3), (4, 4, 4), (2, 3, 5)]:
        x = torch.randn(1, 1, T, 6, generator=rng).expand(B, H, T, 6).contiguous()
        positions = torch.randint(0, 50, (T,), generator=rng)
        close(
            student.rotary(x, positions),
            _rotated(x, positions[None]),
            atol=5e-4,
            what=f"wrong values for B={B}, H={H}, T={T}",
        )


@checks("rotary")
def test_rotary_zero_and_length(student, rng):
    """position 0 does not change a vector, and no position changes the length of a vector"""
    x = torch.randn(1, 2, 4, 10, generator=rng)
    at_zero = student.rotary(x, torch.zeros(4, dtype=torch.int64))
    close(
        at_zero,
        x,
        atol=1e-6,
        what="position 0 changes the vectors",
    )
    positions = torch.randint(1, 500, (4,), generator=rng)
    got = student.rotary(x, positions)
    close(
        got.norm(dim=-1),
        x.norm(dim=-1),
        atol=1e-4,
        what="lengths changed",
    )
    close(got, _rotated(x, positions[None]), atol=5e-3)


@checks("rotary")
def test_rotary_dtypes(student, rng):
    """the result has the dtype of x, and the angles of far positions are not rounded to bfloat16"""
    x = torch.randn(1, 2, 3, 8, generator=rng).clamp(-2, 2)
    near = torch.randint(0, 30, (3,), generator=rng)
    close(
        student.rotary(x.double(), near),
        _rotated(x.double(), near[None]),
        atol=1e-4,
        dtype=torch.float64,
    )
    far = torch.tensor([257, 515, 1031]) + 2 * _pick(rng, 0, 20)
    for width in (8, 12):  # in bfloat16 fourths are exact, sixths are not
        low = torch.randn(1, 2, 3, width, generator=rng).clamp(-2, 2).to(torch.bfloat16)
        close(
            student.rotary(low, far),
            _rotated(low, far[None]),
            atol=0.06,
            dtype=torch.bfloat16,
            what=f"wrong values in bfloat16, {width} wide",
        )


@checks("rotary")
def test_rotary_distance(student, rng):
    """the scores of a whole sequence do not change if all positions grow by the same number"""
    q, k = (torch.randn(2, 2, 5, 8, generator=rng) for _ in range(2))
    positions = torch.randint(0, 30, (5,), generator=rng)
    shift = _pick(rng, 3, 40)

    def scores(by: int) -> torch.Tensor:
        return student.rotary(q, positions + by) @ student.rotary(k, positions + by).transpose(-2, -1)

    close(
        scores(shift),
        scores(0),
        atol=2e-3,
        what=f"scores changed when all positions grew by {shift}",
    )
    want = _rotated(q, positions[None]) @ _rotated(k, positions[None]).transpose(-2, -1)
    close(scores(0), want, atol=2e-3)


@checks("rotary")
def test_rotary_one_token_a_row(student, rng):
    """one token in each row, as in batched decode: each token is turned by the position of its row"""
    for B, H in ((3, 2), (4, 4), (2, 1)):
        x = torch.randn(B, H, 1, 8, generator=rng)
        positions = 3 + 7 * torch.randperm(B, generator=rng)[:, None]
        close(student.rotary(x, positions), _rotated(x, positions), atol=5e-4, what=f"wrong values for B={B}, H={H} and positions (B, 1)")


@checks("rotary")
def test_rotary_leaves_every_dtype(student, rng):
    """the vectors are not changed, whatever their dtype"""
    positions = torch.randint(1, 30, (3,), generator=rng)
    for dtype, atol in ((torch.float32, 5e-4), (torch.float64, 5e-4), (torch.bfloat16, 0.06), (torch.float16, 0.02)):
        x = torch.randn(2, 2, 3, 8, generator=rng).clamp(-2, 2).to(dtype)
        close(student.rotary(x, positions, _unchanged=True), _rotated(x, positions[None]), atol=atol, dtype=dtype)


def _rotated(x: torch.Tensor, positions: torch.Tensor, base: float = 10000.0) -> torch.Tensor:
    """Pair by pair, in float64. positions (B, T) or (1, T)."""
    half = x.shape[-1] // 2
    x = x.double()
    turned = torch.empty_like(x)
    for j in range(half):
        angle = positions.double()[:, None] * base ** (-2 * j / x.shape[-1])
        a, b = x[..., j], x[..., j + half]
        turned[..., j] = a * angle.cos() - b * angle.sin()
        turned[..., j + half] = b * angle.cos() + a * angle.sin()
    return turned


# --- causal_mask ---


@checks("causal_mask", weight=2)
def test_mask_any_lengths(student, rng):
    """the mask is right for any number of queries at the end of any number of keys"""
    lengths = [(_pick(rng, 1, 9), _pick(rng, 0, 9)) for _ in range(5)] + [(1, 0), (3, 17), (300, 0), (1, 700), (2, 8200), (2500, 0)]
    for q_len, more in lengths:
        k_len = q_len + more
        got = student.causal_mask(q_len, k_len)
        equal(list(got.shape), [q_len, k_len], what="wrong shape")
        that(got.dtype == torch.bool, "the mask is not of dtype bool", expected="torch.bool", got=str(got.dtype))
        want = torch.arange(k_len) <= (more + torch.arange(q_len))[:, None]
        equal(
            got,
            want,
            what=f"wrong mask for q_len={q_len}, k_len={k_len}",
        )


@checks("causal_mask")
def test_mask_chunks_stack(student, rng):
    """the mask of the last queries equals the last rows of the square mask"""
    n = _pick(rng, 4, 12)
    cut = _pick(rng, 1, n - 1)
    whole = student.causal_mask(n, n)
    tail = student.causal_mask(n - cut, n)
    equal(list(tail.shape), [n - cut, n], what="wrong shape")
    equal(
        tail,
        whole[cut:],
        what="the last rows of the square mask differ from the mask of the last queries",
    )
    equal(
        whole,
        torch.ones(n, n, dtype=torch.bool).tril(),
        what=f"wrong mask for {n} queries and keys",
    )


@checks("causal_mask")
def test_mask_row_counts(student, rng):
    """the last query sees all keys, and each earlier query sees one key fewer than the query after it"""
    q_len, k_len = _pick(rng, 2, 6), _pick(rng, 7, 12)
    got = student.causal_mask(q_len, k_len)
    equal(
        got.sum(-1),
        torch.arange(k_len - q_len + 1, k_len + 1),
        what="wrong number of keys allowed",
    )
    that(
        bool(got[:, 0].all()),
        "key 0 is hidden from a query",
    )
    that(got.dtype == torch.bool, "the mask is not of dtype bool", expected="torch.bool", got=str(got.dtype))


# --- split_heads, merge_heads ---


@checks("split_heads", weight=2)
def test_split_random(student, rng):
    """random sizes, also with a transposed x: every entry is in the right place"""
    for B, T, H, Dh in [*(tuple(_pick(rng, 1, 5) for _ in range(4)) for _ in range(3)), (2, 130, 3, 2), (1, 2, 4, 48)]:
        for x in (torch.randn(B, T, H * Dh, generator=rng), torch.randn(T, B, H * Dh, generator=rng).transpose(0, 1)):
            close(
                student.split_heads(x, H),
                torch.stack([x[:, :, h * Dh : (h + 1) * Dh] for h in range(H)], dim=1),
                what=f"wrong values for B={B}, T={T}, H={H}, Dh={Dh}" + ("" if x.is_contiguous() else ", of a transposed tensor"),
            )


@checks("split_heads")
def test_split_square(student, rng):
    """T = H = Dh: no two dimensions are swapped"""
    x = torch.randn(2, 3, 9, generator=rng)
    close(
        student.split_heads(x, 3),
        torch.stack(x.split(3, dim=-1), dim=1),
    )


@checks("split_heads")
def test_split_dtype(student, rng):
    """the dtype and every value are kept exactly, also inf, and x is not changed"""
    for dtype in (torch.float64, torch.bfloat16):
        x = torch.randn(2, 3, 8, generator=rng, dtype=torch.float64).to(dtype)
        want = torch.stack(x.split(4, dim=-1), dim=1)
        close(student.split_heads(x, 2, _unchanged=True), want, atol=0.0, rtol=0.0, dtype=dtype)
        for row in range(2):
            x[row, _pick(rng, 0, 2), _pick(rng, 0, 7)] = math.inf
        close(student.split_heads(x, 2), torch.stack(x.split(4, dim=-1), dim=1), what="wrong values where x holds inf")


@checks("merge_heads", weight=2)
def test_merge_random(student, rng):
    """random sizes, also with a transposed x: every entry is in the right place"""
    for B, H, T, Dh in [*(tuple(_pick(rng, 1, 5) for _ in range(4)) for _ in range(3)), (2, 3, 130, 2)]:
        for x in (torch.randn(B, H, T, Dh, generator=rng), torch.randn(B, T, H, Dh, generator=rng).transpose(1, 2)):
            close(
                student.merge_heads(x),
                torch.cat([x[:, h] for h in range(H)], dim=-1),
                what=f"wrong values for B={B}, H={H}, T={T}, Dh={Dh}" + ("" if x.is_contiguous() else ", of a transposed tensor"),
            )


@checks("merge_heads")
def test_merge_square(student, rng):
    """T = H = Dh: no two dimensions are swapped"""
    x = torch.randn(2, 3, 3, 3, generator=rng)
    close(
        student.merge_heads(x),
        torch.cat(x.unbind(1), dim=-1),
    )


@checks("merge_heads")
def test_merge_dtype(student, rng):
    """the dtype and every value are kept exactly, also -inf, and x is not changed"""
    for dtype in (torch.float64, torch.bfloat16):
        x = torch.randn(2, 3, 5, 4, generator=rng, dtype=torch.float64).to(dtype)
        close(student.merge_heads(x, _unchanged=True), torch.cat(x.unbind(1), dim=-1), atol=0.0, rtol=0.0, dtype=dtype)
        for row in range(2):
            x[row, _pick(rng, 0, 2), _pick(rng, 0, 4), _pick(rng, 0, 3)] = -math.inf
        close(student.merge_heads(x), torch.cat(x.unbind(1), dim=-1), what="wrong values where x holds -inf")


# --- attention ---


@checks("attention", weight=2)
def test_attention_random(student, rng):
    """random sizes and grouped heads, with and without a causal mask, give the same result as torch's own attention"""
    for _ in range(4):
        B, K, groups, Dh = (_pick(rng, 1, 4) for _ in range(4))
        Tq = _pick(rng, 1, 5)
        Tk = Tq + _pick(rng, 0, 4)
        q, k, v = _random(rng, B, K * groups, K, Tq, Tk, Dh)
        mask = torch.ones(Tq, Tk, dtype=torch.bool).tril(Tk - Tq)
        sizes = f"B={B}, H={K * groups}, K={K}, Tq={Tq}, Tk={Tk}, Dh={Dh}"
        close(
            student.attention(q, k, v),
            _oracle(q, k, v),
            atol=1e-4,
            what=f"wrong values without a mask for {sizes}",
        )
        close(
            student.attention(q, k, v, mask),
            _oracle(q, k, v, mask),
            atol=1e-4,
            what=f"wrong values with a mask for {sizes}",
        )


@checks("attention")
def test_attention_many_heads(student, rng):
    """ten query heads in groups of five, and nine query heads with one key/value head, give the right result"""
    for H, K in ((10, 2), (9, 1)):
        q, k, v = _random(rng, 1, H, K, 2, 3, 4)
        close(student.attention(q, k, v), _oracle(q, k, v), atol=1e-4, what=f"wrong values for H={H}, K={K}")


@checks("attention")
def test_attention_wide_heads(student, rng):
    """heads of 96, 128 and 256 entries give the right result"""
    for Dh in (96, 128, 256):
        q, k, v = _random(rng, 1, 4, 2, 3, 5, Dh)
        close(student.attention(q, k, v), _oracle(q, k, v), atol=1e-4, what=f"wrong values for Dh={Dh}")


@checks("attention")
def test_attention_wide_and_narrow_values(student, rng):
    """values wider or narrower than the keys, with or without a mask, also with more queries than keys, give the right result"""
    for width, Tq, Tk in ((1, 4, 4), (5, 2, 6), (12, 6, 2)):
        q, k, _ = _random(rng, 2, 6, 3, Tq, Tk, 4)
        v = torch.randn(2, 3, Tk, width, generator=rng)
        mask = _random_mask(rng, (Tq, Tk))
        for given in (None, mask):
            close(student.attention(q, k, v, given), _oracle(q, k, v, given), atol=1e-4, what=f"wrong values, {width} wide, keys 4 wide")


@checks("attention")
def test_attention_leaves_masks_of_every_shape(student, rng):
    """no input is changed, for one query or several, and for masks per row, per query head or per key"""
    for Tq, shape in ((1, (2, 1, 1, 4)), (3, (2, 1, 3, 4)), (3, (1, 4, 3, 4)), (3, (1, 4))):
        q, k, v = _random(rng, 2, 4, 2, Tq, 4, 4)
        mask = _random_mask(rng, shape)
        want = _oracle(q, k, v, mask.expand(2, 4, Tq, 4))
        close(student.attention(q, k, v, mask, _unchanged=True), want, atol=1e-4)


@checks("attention", weight=2)
def test_attention_masks_of_every_shape(student, rng):
    """masks with one to four dimensions, broadcast to (B, H, Tq, Tk), hide the right keys"""
    B, H, K, Tq, Tk = 3, 4, 2, 2, 5
    q, k, v = _random(rng, B, H, K, Tq, Tk, 4)
    for shape in [
        (Tq, Tk),
        (1, 1, Tq, Tk),
        (B, 1, Tq, Tk),
        (B, 1, 1, Tk),
        (1, H, Tq, Tk),
        (B, H, Tq, Tk),
        (1, Tk),
        (Tk,),
        (H, Tq, Tk),
    ]:
        mask = _random_mask(rng, shape)
        close(
            student.attention(q, k, v, mask),
            _oracle(q, k, v, mask.expand(B, H, Tq, Tk)),
            atol=1e-4,
            what=f"wrong values with a mask of shape {shape}",
        )


@checks("attention")
def test_attention_mask_when_rows_equal_heads(student, rng):
    """B = H = Tq = Tk: a mask per row, a mask per query head and a mask per query are not confused"""
    q, k, v = _random(rng, 4, 4, 2, 4, 4, 4)
    for shape in [(4, 1, 4, 4), (1, 4, 4, 4), (4, 4, 4), (4, 4)]:
        mask = _random_mask(rng, shape)
        close(
            student.attention(q, k, v, mask),
            _oracle(q, k, v, mask.expand(4, 4, 4, 4)),
            atol=1e-4,
            what=f"wrong values with a mask of shape {shape}",
        )


@checks("attention")
def test_attention_large_scores(student, rng):
    """scores of several hundred: hidden keys stay hidden, and nothing overflows"""
    q, k, v = _random(rng, 2, 4, 2, 3, 6, 8)
    q = q * 400
    exact = q.double(), k.double(), v.double()
    best = (exact[0] @ exact[1].repeat_interleave(2, dim=1).transpose(-2, -1)).argmax(-1, keepdim=True)
    mask = torch.ones(2, 4, 3, 6, dtype=torch.bool).scatter(-1, best, False)
    close(
        student.attention(q, k, v),
        _oracle(*exact),
        atol=5e-3,
    )
    close(
        student.attention(q, k, v, mask),
        _oracle(*exact, mask),
        atol=5e-3,
        what="wrong values where the best key of each query is hidden",
    )


@checks("attention")
def test_attention_hidden_beats_nothing(student):
    """a hidden key with score 0 gets no weight, even if the visible keys have scores of -21,000"""
    q, v = torch.tensor([[[[300.0, 0.0]]]]), torch.tensor([[[[1.0, 0.0], [0.0, 1.0], [7.0, 7.0]]]])
    k = torch.tensor([[[[-100.0, 0.0], [-99.99, 0.0], [0.0, 1.0]]]])
    mask = torch.tensor([[True, True, False]])
    want = _oracle(q.double(), k.double(), v.double(), mask)
    close(student.attention(q, k, v, mask), want, atol=2e-2)


@checks("attention")
def test_attention_many_keys_of_split_heads(student, rng):
    """two hundred keys, with q, k and v transposed as from split_heads, give the right result"""
    q, k, v = (torch.randn(2, t, 2, 8, generator=rng).transpose(1, 2) for t in (3, 200, 200))
    close(student.attention(q, k, v), _oracle(q, k, v), atol=1e-4)


@checks("attention")
def test_attention_hidden_keys_do_not_exist(student, rng):
    """hiding keys is the same as leaving them out"""
    q, k, v = _random(rng, 2, 4, 2, 3, 6, 4)
    keep = torch.tensor([0, 2, 3, 5])
    mask = torch.zeros(1, 6, dtype=torch.bool)
    mask[0, keep] = True
    close(
        student.attention(q, k, v, mask),
        _oracle(q, k[:, :, keep], v[:, :, keep]),
        atol=1e-4,
    )


@checks("attention")
def test_attention_dtypes(student, rng):
    """with a random mask, float64 and bfloat16 inputs give a result of the same dtype, in the precision of that dtype"""
    q, k, v = _random(rng, 2, 4, 2, 3, 5, 8)
    mask = _random_mask(rng, (3, 5))
    for dtype, atol in [(torch.float64, 1e-11), (torch.bfloat16, 0.1)]:
        low = [t.clamp(-2, 2).to(dtype) for t in (q, k, v)]  # float32 numbers: an inner step in float32 shows all the same
        want = _oracle(low[0].double(), low[1].double(), low[2].double(), mask)
        close(
            student.attention(*low, mask),
            want,
            atol=atol,
            rtol=atol,
            dtype=dtype,
        )


@checks("attention")
def test_attention_rows_do_not_mix(student, rng):
    """each row of the batch gives the same result as in a batch of only that row"""
    q, k, v = _random(rng, 3, 3, 3, 4, 4, 6)
    together = student.attention(q, k, v)
    for row in range(3):
        alone = student.attention(q[row : row + 1], k[row : row + 1], v[row : row + 1])
        close(
            together[row],
            alone[0],
            atol=1e-5,
            what="a row of the batch differs from the same row alone",
        )
    close(together, _oracle(q, k, v), atol=1e-4)


@checks("attention")
def test_attention_grouped_and_turned(student, rng):
    """grouped heads, with q, k and v transposed as from split_heads, give the right result"""
    for H, K, Tq, Tk in ((4, 2, 3, 5), (6, 2, 4, 4), (4, 1, 2, 6)):
        q, k, v = (torch.randn(2, T, heads, 8, generator=rng).transpose(1, 2) for T, heads in ((Tq, H), (Tk, K), (Tk, K)))
        want = F.scaled_dot_product_attention(q.double(), k.double(), v.double(), enable_gqa=True)
        close(student.attention(q, k, v), want, atol=1e-5, what=f"wrong values for {H} query heads and {K} key/value heads")


@checks("attention")
def test_attention_copies_when_keys_match(student, rng):
    """a query that matches one key very well returns that key's value"""
    order = torch.randperm(5, generator=rng)
    eye = torch.eye(5)[None, None]
    v = torch.randn(1, 1, 5, 5, generator=rng)
    got = student.attention(200.0 * eye[:, :, order], eye, v)
    close(
        got,
        v[:, :, order],
        atol=1e-4,
    )


@checks("attention")
def test_attention_many_queries_under_one_mask(student, rng):
    """three hundred queries, with a mask that is the same for all queries or the same for all keys, give the right result"""
    q, k, v = _random(rng, 2, 4, 2, 300, 5, 4)
    for shape in ((1, 5), (2, 1, 1, 5), (300, 1)):
        mask = _random_mask(rng, shape) if shape[-1] > 1 else torch.ones(shape, dtype=torch.bool)
        want = _oracle(q, k, v, mask.expand(2, 4, 300, 5))
        close(student.attention(q, k, v, mask), want, atol=1e-4, what=f"wrong values with a mask of shape {shape}")


@checks("attention")
def test_attention_other_dtypes_under_a_mask(student, rng):
    """hidden keys stay hidden in bfloat16 and float64, and no input is changed"""
    for dtype, atol in ((torch.bfloat16, 5e-2), (torch.float64, 1e-11)):
        q, k, v = (x.to(dtype) for x in _random(rng, 2, 4, 2, 3, 6, 4))
        mask = _random_mask(rng, (3, 6))
        want = _oracle(q.double(), k.double(), v.double(), mask)
        close(student.attention(q, k, v, mask, _unchanged=True), want, atol=atol, rtol=atol, dtype=dtype)


@checks("attention")
def test_attention_long_under_a_mask(student, rng):
    """eleven hundred queries, or eleven hundred keys, with a different mask for each query, give the right result"""
    for Tq, Tk in ((1_100, 3), (2, 1_100)):
        q, k, v = _random(rng, 1, 1, 1, Tq, Tk, 4)
        mask = _random_mask(rng, (Tq, Tk))
        close(student.attention(q, k, v, mask), _oracle(q, k, v, mask), atol=1e-4, what=f"wrong values for {Tq} queries and {Tk} keys")


@checks("attention")
def test_attention_small_weights_count(student):
    """a weight of 1e-7 on a value of 1e8 adds about 11 to the output"""
    q, k = torch.ones(1, 1, 1, 1), torch.tensor([[[[0.0], [-16.0]]]])
    v = torch.tensor([[[[0.0, 1.0], [1e8, 0.0]]]])
    close(student.attention(q, k, v), _oracle(q.double(), k.double(), v.double()), atol=0.0, rtol=1e-3)


def _oracle(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)


def _random(rng: torch.Generator, B: int, H: int, K: int, Tq: int, Tk: int, Dh: int) -> tuple[torch.Tensor, ...]:
    q = torch.randn(B, H, Tq, Dh, generator=rng)
    k, v = (torch.randn(B, K, Tk, Dh, generator=rng) for _ in range(2))
    return q, k, v


def _random_mask(rng: torch.Generator, shape: tuple[int, ...]) -> torch.Tensor:
    """About half of the keys hidden, at least one allowed for each query and one hidden."""
    mask = torch.rand(shape, generator=rng) < 0.5
    allowed = torch.randint(0, shape[-1], (*shape[:-1], 1), generator=rng)
    mask = mask.scatter(-1, allowed, True)
    return mask.scatter(-1, (allowed + 1) % shape[-1], False)


def _pick(rng: torch.Generator, low: int, high: int) -> int:
    """A whole number from low to high, both included."""
    return int(torch.randint(low, high + 1, (), generator=rng))
