"""Products by AMX: the kernels against float64, on an emulator of the instructions anywhere and on the instructions where there are any."""

import ctypes
import functools
import os
import signal
from types import FunctionType, SimpleNamespace

import gguf
import llvmlite.ir as ir
import numpy as np
import pytest
import torch
from numba import njit

from course.kit import load_model, paths
from solutions.engine import Engine, Request
from solutions.engine.backend import choose
from solutions.engine.quantized import AMX, AVX512, QuantizedEngine, QuantizedModel, amx, instruction_sets, permission
from solutions.engine.quantized.engine import AMX_PROMPT, runs_of
from solutions.engine.quantized.instruction_sets import available, best_instruction_set
from solutions.engine.quantized.vectors import I64, Code, Vector, written
from solutions.engine.quantized.weights import tiles4

HERE = AMX in available()
needs_amx = pytest.mark.skipif(not HERE, reason="this processor has no AMX, or it may not be used")
BOUND = 2.0**-14
"""Largest error of a sum, relative to the sum of the products' absolute values (`amx.py`)."""


# ---- the emulator --------------------------------------------------------------------------------------------------


def flushed(x):
    """AMX takes numbers below the smallest normal one as zeros, and makes none."""
    return np.where(np.abs(x) < np.finfo(np.float32).tiny, np.float32(0), x)


def widened(halves):
    """bfloat16, as uint16 -> float32."""
    return flushed((halves.astype(np.uint32) << 16).view(np.float32))


def bytes_at(address, count):
    return np.ctypeslib.as_array((ctypes.c_uint8 * count).from_address(address))


class Registers:
    """AMX's eight registers. A method is an instruction, its arguments are whole numbers: registers, addresses, bytes."""

    def __init__(self):
        self.rows, self.bytes, self.data = [0] * 8, [0] * 8, np.zeros((8, 16, 64), np.uint8)

    def _rows(self, register, address, stride):
        """Each row of a register, and its bytes in memory."""
        for row in range(self.rows[register]):
            yield self.data[register, row], bytes_at(address + row * stride, self.bytes[register])

    def ldtilecfg(self, address):
        config = bytes_at(address, 64)
        assert config[0] == 1
        self.bytes, self.rows = config[16:32].view(np.uint16).tolist(), config[48:56].tolist()
        self.data[:] = 0

    def tilerelease(self):
        self.rows = [0] * 8

    def tilezero(self, register):
        self.data[register] = 0

    def tileloadd64(self, register, address, stride):
        for row, memory in self._rows(register, address, stride):
            row[: len(memory)] = memory

    def tilestored64(self, register, address, stride):
        for row, memory in self._rows(register, address, stride):
            memory[:] = row[: len(memory)]

    def tdpbf16ps(self, to, a, b):
        """Sums of even and of odd numbers, each rounded after every product, then added to each other, then to what was there."""
        assert self.rows[to] == self.rows[a]
        assert self.rows[b] * 4 == self.bytes[a]
        left, right = (widened(self.data[each].view(np.uint16)).reshape(16, 16, 2) for each in (a, b))
        sums = np.zeros((16, 16, 2), np.float32)
        for k in range(self.rows[b]):
            sums = flushed(sums + left[:, None, k] * right[k])  # a product of two bfloat16 is exact in float32
        total = self.data[to].view(np.float32)
        total[...] = flushed(flushed(total) + flushed(sums.sum(-1)))


REGISTERS = Registers()
NAMES = [name for name in vars(Registers) if name[0] != "_"]
CALLBACKS = {
    name: ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * (method.__func__.__code__.co_argcount - 1))(method)
    for name in NAMES
    for method in [getattr(REGISTERS, name)]
}


class Emulated(Code):
    """Code in which AMX's instructions are calls of the emulator."""

    def call(self, name, result, *values):
        callback = CALLBACKS.get(name.removeprefix("llvm.x86."))
        if callback is None:
            return super().call(name, result, *values)
        numbers = [
            self.builder.ptrtoint(each.value, I64) if isinstance(each.type, ir.PointerType)
            else each.value if each.type == I64
            else self.builder.zext(each.value, I64)
            for each in values
        ]  # fmt: skip
        typ = ir.FunctionType(ir.VoidType(), [I64] * len(numbers))
        address = ir.Constant(I64, ctypes.cast(callback, ctypes.c_void_p).value)
        return Vector(self, self.builder.call(self.builder.inttoptr(address, typ.as_pointer()), numbers))


KERNELS = {name: each for name, each in vars(amx).items() if hasattr(each, "body")}
EMULATED = {name: written(each.body, name, Emulated) for name, each in KERNELS.items()}


def compiled(function, kernels):
    """A function of numba's over these kernels."""
    function = getattr(function, "py_func", function)
    return njit(FunctionType(function.__code__, {**function.__globals__, **kernels}))


# ---- products ------------------------------------------------------------------------------------------------------


def set_up(isa, config):
    configure(isa, config.ctypes.data)  # noqa: F821  # a kernel


def split_rows(isa, x, operands):
    split(isa, x.ctypes.data, x.strides[0], len(x), x.shape[1] // 32, operands.ctypes.data, operands.strides[0])  # noqa: F821


class Products:
    """Rows by a weight of 4 bits, as `step` computes them."""

    def __init__(self, kernels):
        functions = (set_up, split_rows, amx.multiply4_by_amx)
        self.configure, self.split, self.multiply = (compiled(each, kernels) for each in functions)

    def __call__(self, x, tiles, first=0, last=None):
        rows, blocks = len(x), tiles.shape[1]
        last = len(tiles) if last is None else last
        operands = amx.aligned((-(-rows // 16), blocks, 2, 16, 32), np.uint16)
        panel = amx.aligned((blocks, 2, 2, 16, 32), np.uint16)
        out = np.full((-(-rows // 16) * 16, 16 * (last - first)), np.nan, np.float32)
        self.configure(AMX, amx.configuration())
        self.split(AMX, x, operands)
        self.multiply(AMX, tiles.ctypes.data, first, last, operands, rows, panel, out, blocks)
        return out[:rows]


@functools.cache
def products_by(what):
    return Products(EMULATED if what == "emulator" else KERNELS)


@pytest.fixture(params=["emulator", pytest.param("processor", marks=needs_amx)])
def products(request):
    return products_by(request.param)


def random(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def blocks_of(weight):
    """A weight in tiles, and its numbers in float64."""
    raw = gguf.quantize(weight, gguf.GGMLQuantizationType.Q4_1)
    exact = gguf.dequantize(raw, gguf.GGMLQuantizationType.Q4_1)
    return tiles4(raw.reshape(len(weight), -1, 20), 16), exact.astype(np.float64)


def check(products, x, weight):
    tiles, exact = blocks_of(weight)
    due, sizes = x.astype(np.float64) @ exact.T, np.abs(x.astype(np.float64)) @ np.abs(exact).T
    got = products(x, tiles)
    assert (np.abs(got - due) <= BOUND * sizes + 1e-36).all()
    return got, due


@pytest.mark.parametrize("rows", [1, 15, 16, 17, 31, 33, 64, 100])
@pytest.mark.parametrize("width", [576, 1536])
def test_a_product_is_that_of_the_files_numbers(products, width, rows):
    got, due = check(products, random(rows, width), random(64, width, seed=1))
    assert np.sqrt(((got - due) ** 2).mean()) < 2e-5 * np.sqrt((due**2).mean())


@needs_amx
@pytest.mark.parametrize(("height", "width"), [(960, 576), (576, 576), (1536, 576), (576, 1536)])
def test_a_product_of_each_shape_of_the_model(height, width):
    for rows in (15, 16, 17, 31, 33, 64, 100):
        check(products_by("processor"), random(rows, width, seed=rows), random(height, width, seed=1))


def test_extremes(products):
    x, weight = random(17, 96), random(32, 96, seed=1)
    x[1], x[2], x[3, 5], x[4], x[5] = 0, 7, 30_000, 1e-30, np.float32(2**-9 + 2**-17) + 1
    x[6] *= np.float32(1e25)
    weight[0], weight[1], weight[2], weight[3] = 0, -0.25, np.tile([-9, 9], 48), weight[3] * 1e-6  # its scales are subnormal in float16
    weight[4, 7] = 200
    got, _ = check(products, x, weight)
    assert (got[1] == 0).all()
    assert (got[:, 0] == 0).all()


def test_a_row_is_the_same_whatever_is_beside_it(products):
    x, (tiles, _) = random(33, 576), blocks_of(random(64, 576, seed=1))
    together = products(x, tiles)
    for r in (0, 15, 16, 32):
        assert np.array_equal(products(x[r : r + 1], tiles)[0], together[r])
    assert np.array_equal(products(x[::-1].copy(), tiles)[::-1], together)
    parts = [products(x, tiles, first, first + 2) for first in (0, 2)]  # as two threads share it
    assert np.array_equal(np.concatenate(parts, axis=1), together)


def unpack_both(isa, keys, values, key_panel, value_panel, groups):
    unpack_keys(isa, keys.ctypes.data, key_panel.ctypes.data, 2 * groups)  # noqa: F821
    unpack_values(isa, values.ctypes.data, value_panel.ctypes.data, groups)  # noqa: F821


class Attention:
    """Rows of one head over the keys and values of one text, as `step` computes them."""

    def __init__(self, kernels):
        self.configure, self.unpack, self.attend = (compiled(each, kernels) for each in (set_up, unpack_both, amx.attend_by_amx))

    def __call__(self, q, length, keys, values, seed=0):
        groups = len(keys) // 32
        panels = [amx.aligned((2 * groups, 2, 2, 16, 32), np.uint16) for _ in range(2)]
        shapes = (2, 2, 16, 32), (groups, 2, 16, 32), (16, 32 * groups + 16), (16, 64)
        left = np.random.default_rng(seed)  # what the last call has left in the buffers must not count
        buffers = [amx.aligned(shape, dtype) for shape, dtype in zip(shapes, [np.uint16] * 2 + [np.float32] * 2, strict=True)]
        for each in buffers:
            each[...] = left.integers(0, 1000, each.shape)
        self.configure(AMX, amx.configuration())
        side_by_side = np.ascontiguousarray(keys.reshape(-1, 16, 64).transpose(0, 2, 1))
        self.unpack(AMX, side_by_side.view(np.uint16), values.view(np.uint16), *panels, groups)
        self.attend(AMX, q, length, *panels, *buffers)
        return buffers[-1][: len(q)].copy()


@functools.cache
def attention_by(what):
    return Attention(EMULATED if what == "emulator" else KERNELS)


@pytest.fixture(params=["emulator", pytest.param("processor", marks=needs_amx)])
def attention(request):
    return attention_by(request.param)


def text_of(count):
    """Keys and values, of them `count` of the text and the others what an earlier one may have left."""
    keys, values = (random(96, 64, seed=seed).astype(np.float16) for seed in (1, 2))
    keys[count:], values[count:] = 60_000, -60_000
    return keys, values


@pytest.mark.parametrize(("rows", "length"), [(16, 1), (16, 17), (1, 40), (9, 24), (16, 81)])
def test_attention_is_that_of_float64(attention, rows, length):
    q, (keys, values) = random(rows, 64) / 4, text_of(length + rows - 1)
    got = attention(q, length, keys, values)
    for i in range(rows):
        k, v = (each[: length + i].astype(np.float64) for each in (keys, values))
        share = np.exp(q[i].astype(np.float64) @ k.T)
        assert np.abs(got[i] - share / share.sum() @ v).max() < 1e-4


def test_attention_of_a_row_is_the_same_whatever_is_beside_it(attention):
    q, (keys, values) = random(16, 64), text_of(80)
    together = attention(q, 65, keys, values)
    for i in (0, 7, 15):
        assert np.array_equal(attention(q[i : i + 1], 65 + i, keys, values, seed=1)[0], together[i])
    assert np.array_equal(attention(q[:5], 65, *text_of(70), seed=2), together[:5])


@needs_amx
def test_the_emulator_computes_what_the_processor_does():
    x, (tiles, _) = random(40, 576), blocks_of(random(64, 576, seed=1))
    x[3] *= np.float32(1e-36)
    assert np.array_equal(products_by("emulator")(x, tiles), products_by("processor")(x, tiles))
    given = random(16, 64), 65, *text_of(80)
    assert np.array_equal(attention_by("emulator")(*given), attention_by("processor")(*given))


# ---- permission ----------------------------------------------------------------------------------------------------


@pytest.fixture
def asked_again(monkeypatch):
    """As in a new process, on a processor that has AMX. Afterwards this processor is asked again."""
    permission.granted.cache_clear()
    monkeypatch.delenv(permission.VARIABLE, raising=False)
    features = {feature: True for isa in (AMX, AVX512) for feature in instruction_sets.SETS[isa].features}
    monkeypatch.setattr(instruction_sets.binding, "get_host_cpu_features", lambda: features)
    monkeypatch.setattr(instruction_sets.binding, "get_process_triple", lambda: "x86_64-unknown-linux-gnu")
    target = SimpleNamespace(target_context=SimpleNamespace(codegen=lambda: SimpleNamespace(magic_tuple=lambda: ("", "", "+amx-bf16"))))
    monkeypatch.setattr(permission, "cpu_target", target)
    monkeypatch.setattr(permission, "request", lambda: None)
    monkeypatch.setattr(permission, "is_exact", lambda: lambda: True)
    yield monkeypatch
    permission.granted.cache_clear()


def test_amx_is_chosen_where_it_may_be_used_and_passes_its_test(asked_again, capsys):
    assert best_instruction_set() == AMX
    assert capsys.readouterr().out == ""


REFUSALS = [
    ("request", lambda: "Linux does not permit it: Operation not permitted", "Linux does not permit it: Operation not permitted"),
    ("is_exact", lambda: lambda: False, "its test gave other numbers"),
    ("is_exact", lambda: lambda: 1 / 0, "its test gave other numbers"),
    ("is_exact", lambda: lambda: os.kill(os.getpid(), signal.SIGILL), "its test ended with SIGILL"),
]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.parametrize(("what", "instead", "reason"), REFUSALS)
def test_if_amx_is_refused_or_fails_one_line_says_so(asked_again, capsys, what, instead, reason):
    asked_again.setattr(permission, what, instead)
    for _ in range(2):
        assert best_instruction_set() == AVX512
    assert capsys.readouterr().out == f"Engine: AMX is not used ({reason}); prompts are read by AVX-512\n"


def test_nothing_is_said_of_a_processor_without_it_nor_if_it_is_switched_off(asked_again, capsys):
    asked_again.setenv("COURSE_AMX", "off")
    assert best_instruction_set() == AVX512
    asked_again.setattr(instruction_sets, "granted", None)
    features = dict.fromkeys(instruction_sets.SETS[AVX512].features, True)
    asked_again.setattr(instruction_sets.binding, "get_host_cpu_features", lambda: features)
    assert best_instruction_set() == AVX512
    assert capsys.readouterr().out == ""


def test_linux_refuses_with_its_reason(monkeypatch):
    def syscall(*given):
        assert given == (158, 0x1023, 18)
        ctypes.set_errno(1)
        return -1

    monkeypatch.setattr(permission.sys, "platform", "linux")
    monkeypatch.setattr(permission.ctypes, "CDLL", lambda *_, **__: SimpleNamespace(syscall=syscall))
    assert permission.request() == "Linux does not permit it: Operation not permitted"
    monkeypatch.setattr(permission.sys, "platform", "win32")
    assert permission.request() == "the permission is requested on Linux only"


# ---- the engine ----------------------------------------------------------------------------------------------------


def test_runs_are_of_one_text_and_at_most_16_rows():
    sequences = np.repeat([0, 2, 2, 1], [20, 3, 5, 4])
    positions = np.concatenate([np.arange(20), np.arange(3), np.arange(9, 14), np.arange(4)])
    assert runs_of(sequences, positions, 28).tolist() == [0, 16, 20, 23, 28]
    assert runs_of(sequences, positions, 0).tolist() == [0]


TEXT = """The sea was calm that morning, and the fishermen had gone out before dawn. By nine the market was full: baskets of sardines,
crates of oranges from the hills, a woman who sold bread from the back of a van. Inflation in the euro area fell to 2.4 percent in November,
down from 2.9 percent in October, the statistics office said on Thursday. def fibonacci(n): return n if n < 2 else fibonacci(n - 1) +
fibonacci(n - 2). Photosynthesis is the process by which plants use sunlight to make sugar from carbon dioxide and water."""
PROMPTS = [
    "The capital of France is Paris. The capital of Germany is Berlin. The capital of Italy is",
    "Once upon a time there was a small village at the foot of a mountain, and in it lived a",
    "def add(a, b):\n    return a + b\n\n\ndef subtract(a, b):\n    return",
    "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,",
    "Water boils at 100 degrees Celsius and freezes at 0 degrees Celsius. Ice is lighter than water because",
    "To be, or not to be, that is the question: Whether 'tis nobler in the mind to suffer",
    "The three primary colours are red, yellow and blue. If you mix yellow and blue, you get",
    "Dear Sir or Madam, I am writing to complain about the service that I received in your restaurant on",
    "In 1969 two American astronauts walked on the moon for the first time. Their names were",
    "SELECT name, age FROM students WHERE age > 21 ORDER BY name; This query returns the names of all",
]


@pytest.fixture(scope="module")
def smollm2():
    if not paths.SMOLLM2.is_file():
        pytest.skip("SmolLM2 is not here; `make model` fetches it")
    return load_model("smollm2")


@pytest.fixture(scope="module")
def model(smollm2):
    return QuantizedModel(paths.SMOLLM2, 16)


@pytest.fixture(scope="module")
def ids(smollm2):
    return smollm2.tokenizer.encode(TEXT)[:128]


def engine(model, isa=AMX, **settings):
    return QuantizedEngine(model=model, isa=isa, **{"batch": 1, "max_len": 160, "threads": 1, **settings})


def all_logits(one, ids):
    """The logits after each token of a prompt: an engine for many guesses has room for them."""
    return torch.from_numpy(one._run(ids, [0] * len(ids), range(len(ids)), range(len(ids)), len(ids)).copy())


@needs_amx
@pytest.mark.slow
def test_a_prompt_by_amx_is_the_model_s_in_float32_but_for_16_bits(model, smollm2, ids):
    got = all_logits(engine(model, guesses=127), ids)
    with torch.inference_mode():
        due = smollm2(torch.tensor([ids]))[0]
    logs = due.log_softmax(-1)
    kl = (logs.exp() * (logs - got.log_softmax(-1))).sum(-1)
    assert kl.mean() < 2e-6
    best, second = due.topk(2).values.unbind(-1)
    sure = best - second > 0.05
    assert sure.sum() > 100
    assert torch.equal(got.argmax(-1)[sure], due.argmax(-1)[sure])


@needs_amx
@pytest.mark.slow
def test_threads_and_chunks_and_a_fork_change_no_bit(model, ids):
    long = (ids + ids)[:150]  # more than one pass
    one = engine(model)
    whole = one.prefill(torch.tensor([long]))
    assert torch.equal(engine(model, threads=2).prefill(torch.tensor([long])), whole)
    cut = engine(model)
    for first, last in ((0, 37), (37, 38), (38, 150)):  # a chunk's length does not count, the prompt's does
        got = cut._run(long[first:last], [0] * (last - first), range(first, last), [last - first - 1], len(long))
    assert torch.equal(torch.from_numpy(got), whole)
    child = os.fork()
    if child == 0:
        same = False
        try:
            same = torch.equal(one.prefill(torch.tensor([long])), whole)
        finally:
            os._exit(not same)
    assert os.waitpid(child, 0)[1] == 0


@needs_amx
@pytest.mark.slow
def test_a_prompt_by_amx_and_token_by_token_differ_in_the_last_bits_only(model, ids):
    whole, one, today = engine(model), engine(model), engine(model, AVX512)
    got = whole.prefill(torch.tensor([ids]))
    one.prefill(torch.tensor([ids[:60]]))
    for token in ids[60:]:
        stepwise = one.decode(torch.tensor([[token]]))
    due = today.prefill(torch.tensor([ids]))
    assert not torch.equal(got, due)
    assert (got - due).abs().max() < 0.05
    assert (stepwise - due).abs().max() < 0.05
    short = torch.tensor([ids[: AMX_PROMPT - 1]])
    assert torch.equal(engine(model).prefill(short), today.prefill(short))  # not by AMX at all
    whole.prefill(short)
    assert torch.equal(whole.decode(torch.tensor([[5]])), today.decode(torch.tensor([[5]])))


@needs_amx
@pytest.mark.slow
def test_a_request_gets_the_same_logits_alone_and_among_others(smollm2):
    """Other prompts cut its own at any place, and answers are being made beside it."""

    def served(*requests):
        chosen = choose("smollm2", "quantized", rows=4, max_len=256, threads=1)
        seen = {request: [] for request in requests}
        for request in requests:
            chosen.serving.add(request)
        while chosen.serving.has_work:
            for new in chosen.serving.step():
                seen[new.request].append(new.logits.clone())
        chosen.close()
        return torch.stack(seen[requests[-1]])

    ids = smollm2.tokenizer.encode(TEXT)
    alone = served(Request(ids[:100], 4))
    for others in ([(120, 6), (7, 6)], [(127, 3)], [(5, 9), (100, 2), (15, 9)]):
        assert torch.equal(served(*(Request(ids[-n:], new) for n, new in others), Request(ids[:100], 4)), alone)


@needs_amx
@pytest.mark.slow
def test_a_cache_full_of_nan_changes_no_bit(model, ids):
    """As a request that failed leaves it: AMX multiplies 32 values at a time, those after the end of the text with 0."""
    one = engine(model, batch=2)
    for length in (16, 31, 33, 128):
        rows, got = torch.tensor([ids[:length]] * 2), []
        for content in (0, np.nan):
            for cache in one.cache:
                cache[:] = np.float16(content).view(np.uint16)
            got.append(torch.cat([one.prefill(rows), one.decode(rows[:, -1:])]))
        assert torch.equal(*got)
    one.close()


@needs_amx
@pytest.mark.slow
def test_ten_prompts_are_answered_alike_with_amx_and_without(asked_for, model, smollm2):
    answers = {}
    for state in ("on", "off"):
        asked_for(state)
        answers[state] = Engine(rows=2, max_len=64, threads=1).generate(PROMPTS, max_new_tokens=12, eos_token_id=None)
    for prompt, on, off in zip(PROMPTS, answers["on"], answers["off"], strict=True):
        ids = smollm2.tokenizer.encode(prompt)
        same = next((i for i, (a, b) in enumerate(zip(on.ids, off.ids, strict=True)) if a != b), 12)
        if same < 12:
            with torch.inference_mode():
                best, second = smollm2(torch.tensor([ids + on.ids[:same]]))[0, -1].topk(2).values
            assert best - second < 0.05


@pytest.fixture
def asked_for(monkeypatch):
    def switch(state):
        monkeypatch.setenv("COURSE_AMX", state)
        permission.granted.cache_clear()
        assert best_instruction_set() == (AMX if state == "on" else AVX512)

    yield switch
    permission.granted.cache_clear()
