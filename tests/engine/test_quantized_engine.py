"""The quantized engine: its kernels against exact arithmetic, and one answer however the rows, chunks and threads are cut."""

import copy
import struct

import gguf
import numpy as np
import pytest
import torch
from numba import njit

from course.kit import load_model, paths
from course.kit.errors import ModelError
from solutions.engine.quantized import kernels, weights
from solutions.engine.quantized.drafted import Lookup, generate_drafted, verified
from solutions.engine.quantized.engine import Crew, QuantizedEngine
from solutions.engine.quantized.instruction_sets import AMX, NAMES, available, best_instruction_set
from solutions.engine.quantized.kernels import BLOCK
from solutions.engine.quantized.vectors import F32, written
from solutions.speculative import greedy_verify, lookup_draft

try:
    BEST = best_instruction_set()
except RuntimeError as error:
    pytest.skip(str(error), allow_module_level=True)
SETS = [pytest.param(isa, id=NAMES[isa]) for isa in available()]
each_set = pytest.mark.parametrize("isa", SETS)
Q4_1, Q8_0 = gguf.GGMLQuantizationType.Q4_1, gguf.GGMLQuantizationType.Q8_0


def product(multiply):
    """All tiles of a weight by all rows: what `step.multiply4` and `multiply8` do with more rows than a kernel takes."""

    @njit
    def whole(isa, tiles, inputs, out):
        lanes, stride = len(isa), inputs.shape[1]
        for tile in range(len(tiles)):
            here = out[0, tile * lanes :].ctypes.data
            multiply(isa, tiles[tile].ctypes.data, inputs.ctypes.data, stride, here, out.shape[1] * 4, tiles.shape[1])

    return whole


@njit
def quantized(isa, x, out):
    for row in range(len(x)):
        kernels.quantize(isa, x[row].ctypes.data, out[row].ctypes.data, x.shape[1] // 32)


def inputs_of(isa, x):
    """Rows of float32 as the kernels read them: numbers (rows, blocks, 32), scales, scales times sums, and the bytes themselves."""
    out = np.zeros((len(x), x.shape[1] // 32 * BLOCK), np.uint8)
    quantized(isa, x, out)
    blocks = out.reshape(len(x), -1, BLOCK)
    rest = np.ascontiguousarray(blocks[..., 32:]).view(np.float32)
    return np.ascontiguousarray(blocks[..., :32]).view(np.int8), rest[..., 0], rest[..., 1], out


def random(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@each_set
def test_inputs_are_rounded_to_whole_numbers_of_their_scale(isa):
    x = random(5, 96)
    x[1, 32:64] = 0
    x[2, 0] = -40
    numbers, s, s_sum, _ = inputs_of(isa, x)
    groups = x.reshape(5, 3, 32)
    assert np.allclose(s, np.abs(groups).max(-1) / 127, rtol=1e-6)
    assert (np.abs(numbers).max(-1) == np.where(np.abs(groups).max(-1) > 0, 127, 0)).all()
    assert np.abs(numbers * s[..., None] - groups).max(-1) == pytest.approx(0, abs=float(s.max()) / 2 + 1e-6)
    assert np.allclose(s_sum, s * numbers.sum(-1, dtype=np.int64), rtol=1e-6)
    assert (numbers[1, 1] == 0).all()


@each_set
def test_two_rows_of_8_bits_hold_a_row_to_16(isa):
    from solutions.engine.quantized.step import quantize_twice

    x = random(1, 96)[0]
    x[5], x[32:64] = 300, 0  # one that leaves its neighbours no step of the first 8 bits, and a block of zeros
    coarse, rest = (np.zeros(3 * BLOCK, np.uint8) for _ in range(2))
    quantize_twice(isa, x.copy(), coarse, rest)
    parts = [each.reshape(3, BLOCK) for each in (coarse, rest)]
    scales = [np.ascontiguousarray(part[:, 32:36]).view(np.float32) for part in parts]
    back = sum(part[:, :32].view(np.int8) * scale for part, scale in zip(parts, scales, strict=True)).ravel()
    groups = np.abs(x.reshape(3, 32)).max(-1, keepdims=True)
    assert (np.abs(back - x).reshape(3, 32) <= groups / 254 / 254 * 1.001 + 1e-12).all()
    assert np.abs(back - x)[:32].max() > 1e-4  # so far, and no further


@each_set
@pytest.mark.parametrize("rows", [2, 4, 8])
@pytest.mark.parametrize(("kind", "tiles", "bits"), [(Q4_1, weights.tiles4, 4), (Q8_0, weights.tiles8, 8)])
def test_a_product_is_that_of_the_file_s_numbers(isa, rows, kind, tiles, bits):
    """Held against float64 arithmetic with the inputs as quantized: what is left is the rounding of float32 sums."""
    lanes, width = len(isa), 160
    weight = random(3 * lanes, width, seed=1)
    weight[0, :32], weight[1, 32:64] = 3, np.tile([-9, 9], 16)  # the ends of the scale, and one that has no width
    raw = gguf.quantize(weight, kind)
    exact = gguf.dequantize(raw, kind).astype(np.float64)
    x = random(rows, width, seed=2)
    x[0, :64] = np.tile([1, 1], 32)  # the largest number in every place: the sums of 16 bits are at their limit
    numbers, s, _, inputs = inputs_of(isa, x)
    due = (numbers.astype(np.float64) * s[..., None]).reshape(rows, width) @ exact.T
    out = np.zeros((rows, 3 * lanes), np.float32)
    product(getattr(kernels, f"product{bits}_{rows}"))(isa, tiles(raw.reshape(3 * lanes, width // 32, -1), lanes), inputs, out)
    assert np.abs(out - due).max() < 2e-6 * np.abs(due).max() * width**0.5


@each_set
def test_the_function_e_to_the_x(isa):
    lanes = len(isa)

    def powers(code, x, out):
        code.store(code.exp(code.load(x, code.vector(F32))), out)

    kernel = written(powers)

    @njit
    def exp(isa, x, out):
        for i in range(0, len(x), len(isa)):
            kernel(isa, x[i:].ctypes.data, out[i:].ctypes.data)

    x = np.linspace(-87, 87, 4096 * lanes, dtype=np.float32)
    out = np.empty_like(x)
    exp(isa, x, out)
    assert np.abs(out / np.exp(x.astype(np.float64)) - 1).max() < 3e-7
    ends = np.array([-1e30, -200, 0, 100] * (lanes // 4), np.float32)
    exp(isa, ends, out[:lanes])
    assert out[0] < 1.3e-38
    assert out[2] == 1
    assert np.isfinite(out[3])


@each_set
def test_attention_over_half_precision_keys(isa):
    from solutions.engine.quantized.step import attend

    lanes, length = len(isa), 45
    for queries in (1, 2, 3, 4, 7):
        q, k, v = random(queries, 64, seed=queries) / 8, random(length, 64, seed=1), random(length, 64, seed=2)
        blocks = -(-length // lanes)
        keys = np.full((blocks, 64, lanes), 7, np.float16)  # what lies behind the text must not count
        for i in range(length):
            keys[i // lanes, :, i % lanes] = k[i]
        out = np.zeros((queries, 64), np.float32)
        scratch = np.full((4, blocks * lanes), np.nan, np.float32)
        attend(isa, q, keys.view(np.uint16), v.astype(np.float16).view(np.uint16), length, scratch, out)
        scores = q.astype(np.float64) @ k.astype(np.float16).astype(np.float64).T
        share = np.exp(scores - scores.max(-1, keepdims=True))
        share /= share.sum(-1, keepdims=True)
        assert np.abs(out - share @ v.astype(np.float16).astype(np.float64)).max() < 2e-6


@pytest.mark.slow
def test_threads_meet_and_none_goes_ahead():
    from solutions.engine.quantized.kernels import meet

    @njit(nogil=True)
    def rounds(isa, me, threads, barrier, counts, wrong):
        for turn in range(2000):
            counts[me, 0] = turn
            meet(isa, barrier.ctypes.data, threads)
            for other in range(threads):
                if counts[other, 0] != turn:
                    wrong[me] += 1
            meet(isa, barrier.ctypes.data, threads)

    for threads in (1, 2, 3):
        barrier, counts, wrong = np.zeros(16, np.int64), np.zeros((threads, 8), np.int64), np.zeros(threads, np.int64)
        crew = Crew(threads)
        rounds(BEST, 0, 1, barrier, counts[:1].copy(), wrong.copy())  # compiled before several call it
        crew.run(lambda me: rounds(BEST, me, threads, barrier, counts, wrong))  # noqa: B023
        crew.close()
        assert wrong.tolist() == [0] * threads


def test_what_fails_in_a_thread_is_reported():
    crew = Crew(2)
    with pytest.raises(ZeroDivisionError):
        crew.run(lambda me: 1 // (1 - me))
    crew.run(lambda me: None)
    crew.close()


def test_a_file_of_other_blocks_is_refused(tmp_path):
    path = tmp_path / "other.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tensor("token_embd.weight", np.zeros((32, 32), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(ModelError, match="quantized engine"):
        weights.QuantizedModel(path, 8)
    path.write_bytes(struct.pack("<4s", b"none"))
    with pytest.raises(ModelError, match="not a GGUF"):
        weights.QuantizedModel(path, 8)


@pytest.fixture(scope="module")
def smollm2():
    if not paths.SMOLLM2.is_file():
        pytest.skip("SmolLM2 is not here; `make model` fetches it")
    return load_model("smollm2")


@pytest.fixture(scope="module", params=SETS)
def packed(request):
    if not paths.SMOLLM2.is_file():
        pytest.skip("SmolLM2 is not here; `make model` fetches it")
    return request.param, weights.QuantizedModel(paths.SMOLLM2, len(request.param))


def engine(packed, **settings):
    isa, model = packed
    return QuantizedEngine(model=model, isa=isa, **{"batch": 1, "max_len": 160, "threads": 1, **settings})


TEXT = "The capital of France is Paris. The capital of Germany is Berlin. The capital of Italy is"


@pytest.mark.slow
def test_its_logits_are_the_model_s_but_for_sixteen_bits_of_the_inputs(packed, smollm2):
    ids = torch.tensor([smollm2.tokenizer.encode(TEXT)])
    one = engine(packed)
    with torch.inference_mode():
        due = smollm2(ids)[0].log_softmax(-1)
    got = [one.prefill(ids[:, :1])[0], *(one.decode(ids[:, i : i + 1])[0] for i in range(1, ids.shape[1]))]
    kl = (due.exp() * (due - torch.stack(got).log_softmax(-1))).sum(-1)
    assert kl.mean() < 1e-5  # 0.003 with 8 bits
    best, second = due.topk(2).values.unbind(-1)
    sure = best - second > 0.05
    assert sure.sum() > 15
    assert torch.equal(torch.stack(got).argmax(-1)[sure], due.argmax(-1)[sure])
    assert smollm2.tokenizer.decode([int(got[-1].argmax())]) == " Rome"


@pytest.mark.slow
def test_how_rows_and_chunks_and_threads_are_cut_changes_no_bit(packed, smollm2):
    """A row's sums are taken in one order, whoever stands beside it."""
    ids = torch.tensor([smollm2.tokenizer.encode(TEXT * 6)[:100]])
    whole = engine(packed).prefill(ids)
    stepwise = engine(packed)
    stepwise.prefill(ids[:, :37])
    for i in range(37, 100):
        last = stepwise.decode(ids[:, i : i + 1])
    if packed[0] != AMX:  # which reads a prompt by other products: test_amx.py
        assert torch.equal(last, whole)
    stepwise.prefill(ids)
    assert torch.equal(engine(packed, threads=3).prefill(ids), whole)
    batch = engine(packed, batch=5, threads=2)
    others = torch.randint(5, 49000, (5, 100), generator=torch.Generator().manual_seed(0))
    others[3] = ids[0]
    assert torch.equal(batch.prefill(others)[3], whole[0])
    assert torch.equal(batch.decode(torch.full((5, 1), 9))[3], stepwise.decode(torch.tensor([[9]]))[0])


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
def test_nan_is_that_of_one_text(packed, smollm2, threads):
    """The embedding of one token is NaN in the middle of one text. As the head, it makes one logit of all texts NaN."""
    isa, model = packed
    ids, bad, lanes = smollm2.tokenizer.encode(TEXT)[:18], 11, len(isa)
    assert bad not in ids
    broken = copy.copy(model)
    broken.weights = (model.weights[0].copy(), *model.weights[1:])
    place = 32 * lanes + 2 * (bad % lanes)
    broken.weights[0][bad // lanes, :, place : place + 2] = np.array([np.nan], np.float16).view(np.uint8)
    texts = [ids, [*ids[:5], bad, *ids[6:]], ids[:3]]

    def passes(model):
        """The logits after all texts, and the cache of the two without the token."""
        one = engine((isa, model), batch=3, guesses=20, threads=threads)  # it has room for 63 rows
        sequences, lengths = np.repeat(range(3), [len(text) for text in texts]), np.array([len(text) for text in texts])
        positions = np.concatenate([range(length) for length in lengths])
        prompts = lengths[sequences]
        first = one._run(np.concatenate(texts), sequences, positions, np.cumsum(lengths) - 1, prompts).copy()
        cache = [each[:, [0, 2]].copy() for each in one.cache]
        one.close()
        return first, cache

    whole, cache = passes(model)
    got, its_cache = passes(broken)
    assert np.isnan(got[1]).all()
    others = np.arange(model.vocab_size) != bad
    assert (got[[0, 2]][:, others] == whole[[0, 2]][:, others]).all()
    assert all((a == b).all() for a, b in zip(cache, its_cache, strict=True))


def test_an_instruction_set_that_this_processor_has_not_is_refused(packed):
    for isa in set(NAMES) - set(available()):
        with pytest.raises(RuntimeError, match=f"no {NAMES[isa]}"):
            engine((isa, packed[1]))


def test_what_does_not_fit_is_refused(packed):
    one = engine(packed, batch=2, max_len=8)
    for ids in (torch.zeros(2, 9, dtype=torch.int64), torch.zeros(1, 4, dtype=torch.int64), torch.full((2, 4), 49152)):
        with pytest.raises(ValueError, match=r"9 tokens do not fit|made for 2 rows, got 1|token 49152"):
            one.prefill(ids)
    for empty in (lambda: one.prefill(torch.zeros(2, 4, dtype=torch.int64), torch.tensor([0, 4])), lambda: one.generate([[5], []], 2)):
        with pytest.raises(ValueError, match="prompt 1 is empty"):
            empty()
    with pytest.raises(ValueError, match="prompt 0 is empty"):
        one.prefill(torch.zeros(2, 0, dtype=torch.int64))
    one.prefill(torch.zeros(2, 8, dtype=torch.int64))
    with pytest.raises(ValueError, match="all max_len = 8"):
        one.decode(torch.zeros(2, 1, dtype=torch.int64))


@pytest.mark.slow
def test_prompts_of_different_lengths_side_by_side(packed, smollm2):
    prompts = [smollm2.tokenizer.encode(text) for text in ("Once", TEXT, "def add(a, b):\n    return")]
    together = engine(packed, batch=3).generate(prompts, 8)
    for prompt, row in zip(prompts, together, strict=True):
        assert torch.equal(engine(packed).generate([prompt], 8)[0], row)


# ---- guesses -------------------------------------------------------------------------------------------------------


def test_a_lookup_that_is_kept_up_is_that_of_day_15():
    generator = np.random.default_rng(0)
    for _ in range(60):
        text = Lookup()
        for token in generator.integers(0, 3, 40).tolist():
            text.extend([token])
            for k in (0, 1, 4):
                assert text.draft(k) == lookup_draft(text.tokens, max_ngram=3, k=k)


def test_what_is_verified_is_that_of_day_15():
    generator = torch.Generator().manual_seed(0)
    for k in (0, 1, 3) * 20:
        logits, draft = torch.rand(k + 1, 2, generator=generator), torch.randint(2, (k,), generator=generator)
        assert verified(logits.argmax(-1).tolist(), draft.tolist()) == greedy_verify(logits, draft)
    assert verified([], []) == []  # a row that is left out


@pytest.mark.slow
def test_with_guesses_the_tokens_are_those_one_by_one_in_fewer_passes(packed, smollm2):
    texts = [TEXT, "1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2,", "Once upon a time", "def f(x):\n    return x\n\n\ndef g(x):\n"]
    prompts = [smollm2.tokenizer.encode(text) for text in texts]
    due = engine(packed, batch=4).generate(prompts, 24).tolist()
    for guesses in (1, 4):
        drafted = generate_drafted(engine(packed, batch=4, guesses=guesses, threads=2), prompts, 24)
        assert drafted.tokens == due
        assert drafted.passes <= 23
        assert drafted.read <= 4 * 23 * (1 + guesses)
    assert generate_drafted(engine(packed, guesses=4), prompts[1:2], 24).passes < 12  # this one repeats itself
    assert generate_drafted(engine(packed), prompts[:1], 24).passes == 23  # no guesses, no fewer


def test_what_is_not_kept_has_not_happened(packed):
    one, ids = engine(packed, batch=2, max_len=12, guesses=3), torch.tensor([[5, 6, 7], [8, 9, 10]])
    one.prefill(ids)
    wrong = one.verify([[11, 400, 401], [12]])
    assert [tuple(each.shape) for each in wrong] == [(3, 49152), (1, 49152)]
    one.keep([1, 0])
    again = one.verify([[13], [12, 14]])
    other = engine(packed, batch=2, max_len=12)
    other.prefill(ids)
    due = [other.decode(torch.tensor([[11], [12]])), other.decode(torch.tensor([[13], [14]]))]
    assert torch.equal(wrong[0][:1], due[0][:1])
    assert torch.equal(again[0], due[1][:1])
    assert torch.equal(again[1], torch.stack([due[0][1], due[1][1]]))
    for tokens, message in (([[5] * 5, []], "row 0 has 4 guesses"), ([[], [49152]], "token 49152")):
        with pytest.raises(ValueError, match=message):
            one.verify(tokens)
    one.keep([6, 9])
    with pytest.raises(ValueError, match="row 0 has no room for 3 tokens"):
        one.verify([[5, 6, 7], []])
