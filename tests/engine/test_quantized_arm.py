"""The quantized engine's kernels for ARM, where there is none: compiled for one, looked at, and run under an emulator if one is installed.

What runs is held against numpy and against the kernels of this processor on the same inputs. Speed under an emulator says nothing.
"""

import functools
import inspect
import re
import shutil
import subprocess
from types import SimpleNamespace

import gguf
import llvmlite.ir as ir
import numpy as np
import pytest
from llvmlite import binding
from numba import njit

from autograder import doctor
from solutions.engine import quantized
from solutions.engine.quantized import instruction_sets, kernels, weights
from solutions.engine.quantized.instruction_sets import ARM, best_instruction_set
from solutions.engine.quantized.kernels import BLOCK
from solutions.engine.quantized.vectors import I64, Code, Vector

KERNELS = {name: each.body for name, each in vars(kernels).items() if hasattr(each, "body")}
TRIPLE, LANES = "aarch64-unknown-linux-gnu", len(ARM)
TOOLS = ("qemu-aarch64", "aarch64-linux-gnu-gcc")
Q4_1, Q8_0 = gguf.GGMLQuantizationType.Q4_1, gguf.GGMLQuantizationType.Q8_0


def written() -> str:
    """All kernels in LLVM's language, for ARM, each a function of int64 addresses and counts."""
    module = ir.Module()
    module.triple = TRIPLE
    for name, body in KERNELS.items():
        count = len(inspect.signature(body).parameters) - 1
        function = ir.Function(module, ir.FunctionType(ir.VoidType(), [I64] * count), name)
        code = Code(ir.IRBuilder(function.append_basic_block()), LANES)
        body(code, *(Vector(code, value) for value in function.args))
        code.builder.ret_void()
    return str(module)


@functools.cache
def assembly() -> str:
    """As LLVM makes it, with the passes that numba asks for, for any processor of ARM's that has the dot products."""
    source = written()
    assert "llvm.x86" not in source  # LLVM would end this process over it
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    try:
        target = binding.Target.from_triple(TRIPLE)
    except RuntimeError as error:
        pytest.skip(f"llvmlite is built without ARM here: {error}")
    machine = target.create_target_machine(cpu="generic", features="+neon,+dotprod", opt=3)
    module = binding.parse_assembly(source)
    module.verify()
    passes = binding.create_pass_builder(machine, binding.create_pipeline_tuning_options(speed_level=3))
    passes.getModulePassManager().run(module, passes)
    return machine.emit_assembly(module)


def lines_of(name: str) -> list[str]:
    """A kernel's own part of it."""
    return re.search(rf"^{name}:\n(.*?)^\.Lfunc_end", assembly(), re.S | re.M)[1].splitlines()


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_needs_nothing_but_the_processor(name):
    called = {line.split()[1] for line in lines_of(name) if re.match(r"\tbl?\t[^.]", line)}
    assert called == ({"sched_yield"} if name == "meet" else set())


@pytest.mark.parametrize("rows", [2, 4, 8])
@pytest.mark.parametrize("bits", [4, 8])
def test_a_product_is_made_of_dot_products(bits, rows):
    """Eight registers of weights for each row of inputs, whose numbers are taken from where they lie in theirs."""
    lines = lines_of(f"product{bits}_{rows}")
    dots = [line for line in lines if "\tsdot\t" in line]
    assert len(dots) == 8 * rows
    assert all(re.search(r"\.4b\[[0-3]\]$", line) for line in dots)


def test_who_waits_says_so():
    assert any(line.strip() == "yield" for line in lines_of("meet"))


# ---- which processors have them ------------------------------------------------------------------------------------

PROCESSORS = [
    ("generic", "+neon", False),
    ("cortex-a72", "+neon,+crc", False),  # no dot products
    ("cortex-a76", "+neon,+crc", True),
    ("neoverse-n1", "+neon,+lse", True),
    ("apple-m1", "", True),  # macOS tells no features
    ("generic", "+neon,+dotprod", True),
]


@pytest.mark.parametrize(("cpu", "features", "known"), PROCESSORS)
def test_arm_is_chosen_where_llvm_knows_the_dot_products(monkeypatch, cpu, features, known):
    assembly()  # or there is no LLVM for ARM here
    target = SimpleNamespace(target_context=SimpleNamespace(codegen=lambda: SimpleNamespace(magic_tuple=lambda: (TRIPLE, cpu, features))))
    monkeypatch.setattr(instruction_sets, "cpu_target", target)
    monkeypatch.setattr(binding, "get_process_triple", lambda: TRIPLE)
    monkeypatch.setattr(binding, "get_host_cpu_features", lambda: {"neon": True} if features else {})
    monkeypatch.setattr(binding, "get_host_cpu_name", lambda: cpu)
    if known:
        assert best_instruction_set() == ARM
    else:
        with pytest.raises(RuntimeError, match=f"ARM with dot products; this processor, {cpu} to LLVM, has none"):
            best_instruction_set()


def test_the_doctor_says_which_kernels_and_what_is_not_known_of_them(monkeypatch):
    monkeypatch.setattr(quantized, "best_instruction_set", lambda: ARM)
    (found,) = doctor.engine()
    assert (found.state, found.found) == ("ok", "kernels for ARM with dot products; tried under an emulator, their speed was not measured")

    def none():
        raise RuntimeError("none of them")

    monkeypatch.setattr(quantized, "best_instruction_set", none)
    (found,) = doctor.engine()
    assert (found.state, found.found) == ("note", "none of them")
    assert "float32" in found.remedy


# ---- under an emulator ---------------------------------------------------------------------------------------------

DRIVER = """
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
%(declared)s
static void (*kernels[])() = {%(names)s};
static long barrier[16], count, turns[8][8], wrong;

static void *rounds(void *me) {
    for (long turn = 0; turn < 300; turn++) {
        turns[(long)me][0] = turn;
        meet((long)barrier, count);
        for (long other = 0; other < count; other++) wrong += turns[other][0] != turn;
        meet((long)barrier, count);
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 2) {  /* so many threads meet */
        pthread_t threads[8];
        count = atol(argv[1]);
        for (long me = 1; me < count; me++) pthread_create(&threads[me], 0, rounds, (void *)me);
        rounds(0);
        for (long me = 1; me < count; me++) pthread_join(threads[me], 0);
        return wrong != 0;
    }
    struct stat about;  /* a file of memory, a kernel's number, its arguments: those with @ are places in the file */
    int file = open(argv[1], O_RDWR);
    fstat(file, &about);
    char *memory = mmap(0, about.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    long given[7] = {0};
    for (int i = 3; i < argc; i++) given[i - 3] = argv[i][0] == '@' ? (long)(memory + atol(argv[i] + 1)) : atol(argv[i]);
    kernels[atol(argv[2])](given[0], given[1], given[2], given[3], given[4], given[5], given[6]);
    return 0;
}
"""


@pytest.fixture(scope="module")
def emulator(tmp_path_factory):
    """The kernels as a program for ARM, and what runs it."""
    for tool in TOOLS:
        if not shutil.which(tool):
            pytest.skip(f"{tool} is not installed; on Debian: apt-get install qemu-user gcc-aarch64-linux-gnu")
    folder = tmp_path_factory.mktemp("arm")
    (folder / "kernels.s").write_text(assembly())
    declared = "\n".join(f"void {name}();" for name in KERNELS)
    (folder / "driver.c").write_text(DRIVER % {"declared": declared, "names": ", ".join(KERNELS)})
    compiler = [TOOLS[1], "-static", "-march=armv8.2-a+dotprod", "-o", "kernels", "driver.c", "kernels.s"]
    subprocess.run(compiler, cwd=folder, check=True, timeout=60)
    return [TOOLS[0], "-cpu", "max", str(folder / "kernels")]


@pytest.fixture
def on_arm(emulator, tmp_path):
    """run(kernel, *arguments): arrays are handed over as addresses, and hold afterwards what it left in them."""

    def run(name, *given):
        file, places, parts, size = tmp_path / "memory", [], [], 0
        for each in given:
            if isinstance(each, np.ndarray):
                assert each.flags.c_contiguous
                places.append((each, size))
                parts.append(each.tobytes() + bytes(-each.nbytes % 64))
                size += len(parts[-1])
        file.write_bytes(b"".join(parts))
        at = iter(places)
        words = [f"@{next(at)[1]}" if isinstance(each, np.ndarray) else str(each) for each in given]
        subprocess.run([*emulator, str(file), str(list(KERNELS).index(name)), *words], check=True, timeout=60)
        memory = file.read_bytes()
        for array, place in places:
            array[...] = np.frombuffer(memory, array.dtype, array.size, place).reshape(array.shape)

    return run


@functools.cache
def _native(name):
    kernel = getattr(kernels, name)

    @njit
    def call(isa, given):
        kernel(isa, *given)

    return call


@pytest.fixture
def here():
    """The same on this processor: its instruction set, and run(kernel, *arguments)."""
    try:
        isa = best_instruction_set()
    except RuntimeError as error:
        pytest.skip(str(error))

    def run(name, *given):
        _native(name)(isa, tuple(each.ctypes.data if isinstance(each, np.ndarray) else each for each in given))

    return len(isa), run


def random(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def rounded(run, x):
    """Rows of blocks: numbers (rows, blocks, 32), scale and scale times sum (rows, blocks), and the bytes that hold them."""
    out = np.zeros((len(x), x.shape[1] // 32, BLOCK), np.uint8)
    run("quantize", x, out, x.size // 32)
    rest = np.ascontiguousarray(out[..., 32:]).view(np.float32)
    return np.ascontiguousarray(out[..., :32]).view(np.int8), rest[..., 0], rest[..., 1], out


def test_inputs_are_rounded_to_the_same_numbers(on_arm, here):
    x = random(6, 320)
    x[1, 32:64], x[2, 0], x[3] = 0, -40, x[3] * 1e-20
    numbers, s, s_sum, _ = rounded(on_arm, x)
    due, due_s, due_sum, _ = rounded(here[1], x)
    assert np.array_equal(numbers, due)
    assert np.allclose(s, due_s, rtol=3e-7, atol=0)
    assert np.allclose(s_sum, due_sum, rtol=6e-7, atol=0)
    assert np.array_equal(np.abs(numbers).max(-1) == 127, np.abs(x.reshape(6, -1, 32)).max(-1) > 0)


def product(lanes, run, bits, raw, inputs):
    """Blocks of a weight (rows, blocks, bytes) by inputs (n, blocks, BLOCK) -> (n, rows)."""
    tiles = (weights.tiles4, weights.tiles8)[bits == 8](raw, lanes)
    out = np.zeros((len(tiles), len(inputs), lanes), np.float32)
    for tile, to in zip(tiles, out, strict=True):
        run(f"product{bits}_{len(inputs)}", tile, inputs, inputs[0].nbytes, to, lanes * 4, raw.shape[1])
    return np.concatenate(out, axis=1)


@pytest.mark.parametrize("rows", [2, 4, 8])
@pytest.mark.parametrize("bits", [4, 8])
def test_a_product_of_whole_numbers_is_exact(on_arm, here, bits, rows):
    """All scales 1, no minima: what comes out are the sums of the integers, below 2^24 and so exact in float32."""
    generator = np.random.default_rng(bits)
    blocks, one = 3, np.frombuffer(np.float16(1).tobytes(), np.uint8)
    raw = generator.integers(0, 256, (16, blocks, (20, 34)[bits == 8]), dtype=np.uint8)
    raw[0, :, 2:] = 255 if bits == 4 else 128  # every number the largest in size
    raw[..., :2] = one
    numbers = raw[..., 2:].view(np.int8).astype(np.int64)
    if bits == 4:
        raw[..., 2:4] = 0
        numbers = np.concatenate([raw[..., 4:] & 15, raw[..., 4:] >> 4], axis=-1).astype(np.int64)
    inputs = np.zeros((rows, blocks, BLOCK), np.uint8)
    given = generator.integers(-127, 128, (rows, blocks, 32), dtype=np.int8)
    given[0] = 127
    inputs[..., :32] = given.view(np.uint8)
    ends = np.stack([np.ones((rows, blocks)), given.sum(-1, dtype=np.int64)], axis=-1).astype(np.float32)
    inputs[..., 32:] = ends.view(np.uint8)
    due = np.einsum("rbi,wbi->rw", given.astype(np.int64), numbers)
    assert np.array_equal(product(LANES, on_arm, bits, raw, inputs), due)
    assert np.array_equal(product(*here, bits, raw, inputs), due)


@pytest.mark.parametrize(("bits", "kind"), [(4, Q4_1), (8, Q8_0)])
def test_a_product_is_that_of_the_file_s_numbers(on_arm, here, bits, kind):
    weight, x = random(32, 192, seed=1), random(4, 192, seed=2)
    raw = gguf.quantize(weight, kind).reshape(32, 6, -1)
    numbers, s, _, inputs = rounded(here[1], x)
    exact = gguf.dequantize(raw.reshape(32, -1), kind).astype(np.float64)
    due = (numbers.astype(np.float64) * s[..., None]).reshape(4, 192) @ exact.T
    got = product(LANES, on_arm, bits, raw, inputs)
    scale = np.abs(due).max()
    assert np.abs(got - due).max() < 2e-6 * scale
    assert np.abs(got - product(*here, bits, raw, inputs)).max() < 2e-6 * scale


@pytest.mark.parametrize("queries", [1, 2, 3, 4])
def test_attention_over_half_precision_keys(on_arm, queries):
    length, blocks = 45, 12
    q, k, v = random(queries, 64, seed=queries) / 8, random(length, 64, seed=1).astype(np.float16), random(length, 64, seed=2)
    padded = np.concatenate([k, np.full((blocks * LANES - length, 64), 7, np.float16)])
    keys = np.ascontiguousarray(padded.reshape(blocks, LANES, 64).transpose(0, 2, 1))
    found = np.zeros((queries, blocks * LANES), np.float32)
    on_arm(f"scores_{queries}", q, keys, found, found.shape[1] * 4, 64, blocks)
    due = q.astype(np.float64) @ k.astype(np.float64).T
    assert np.abs(found[:, :length] - due).max() < 2e-6
    found[:, length:] = -3e38
    for row in found:
        on_arm("softmax", row, blocks)
    share = np.exp(due - due.max(-1, keepdims=True))
    share /= share.sum(-1, keepdims=True)
    assert np.abs(found[:, :length] - share).max() < 1e-6
    assert found[:, length:].max() < 1e-37
    out = np.zeros((queries, 64), np.float32)
    on_arm(f"mixed_{queries}", found, v.astype(np.float16), out, found.shape[1] * 4, 64, length)
    assert np.abs(out - share @ v.astype(np.float16).astype(np.float64)).max() < 2e-6


def test_the_gate_is_that_of_float64(on_arm, here):
    gate, up, lanes = np.linspace(-90, 80, 1024, dtype=np.float32), random(1024), here[0]
    out, other = np.zeros_like(gate), np.zeros_like(gate)
    on_arm("swiglu", gate, up, out, 1024 // LANES)
    here[1]("swiglu", gate, up, other, 1024 // lanes)
    due = gate / (1 + np.exp(-gate.astype(np.float64))) * up
    assert np.allclose(out, due, rtol=2e-6, atol=1e-35)
    assert np.allclose(out, other, rtol=2e-6, atol=1e-35)


def test_halves_are_those_of_numpy(on_arm):
    x = np.concatenate([random(60), np.float32([0, -65504, 1e-7, 6.1e-5])])
    halves, back = np.zeros((64, 3), np.float16), np.zeros(1, np.float32)
    on_arm("to_half", x, halves, 6, 64)
    assert np.array_equal(halves[:, 0], x.astype(np.float16))
    assert not halves[:, 1:].any()
    on_arm("from_half", halves[:1, 0].copy(), back)
    assert back[0] == np.float32(halves[0, 0])


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_meet_and_none_goes_ahead(emulator, threads):
    subprocess.run([*emulator, str(threads)], check=True, timeout=60)
