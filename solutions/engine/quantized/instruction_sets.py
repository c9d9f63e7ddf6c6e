"""What is written for one kind of processor and not for another: sums of products of bytes, and waiting. All else LLVM finds itself.

A weight's bytes are 0 to 15, or 0 to 255 and 128 too large; an input's are -127 to 127.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import llvmlite.ir as ir
from llvmlite import binding
from numba.core.registry import cpu_target

from .vectors import I8, I16, I32, Code, Vector

InstructionSet = tuple[int, ...]
AVX512, AVX2, ARM = (0,) * 16, (0,) * 8, (0,) * 4
"""An instruction set, as an argument: what numba sees of it is its type, whose length is the number of float32 lanes of a register."""
Weights = list[tuple[Vector, int]]
"""Registers of a tile, and which of the block's numbers each begins with."""


def summed(code: Code, name: str, pairs: list[tuple[Vector, Vector]]) -> Vector:
    """Four neighbours' products of bytes added to each int32 lane, by an instruction made for it."""
    bytes_, total = code.vector(I8, 4), code.constant(code.vector(I32), 0)
    for weights, inputs in pairs:
        total = code.call(name, total.type, total, weights.bits_as(bytes_), inputs.bits_as(bytes_))
    return total


def inputs_of(code: Code, block: Vector, first: int) -> Vector:
    """Numbers first to first + 3 of a block of an input, in every lane."""
    return code.everywhere(code.load(block, I32, first))


def vnni4(code: Code, weights: Weights, block: Vector) -> Vector:
    """Unsigned bytes by signed ones."""
    return summed(code, "llvm.x86.avx512.vpdpbusd.512", [(w, inputs_of(code, block, first)) for w, first in weights])


def vnni8(code: Code, weights: Weights, block: Vector, s: Vector, s_sum: Vector) -> Vector:
    return code.fma(vnni4(code, weights, block).to_float(), s, s_sum * -128.0)


def avx2_4(code: Code, weights: Weights, block: Vector) -> Vector:
    """Two neighbours' products at a time, which eight of 15 at the most leave within int16: 8 * 2 * 15 * 127 = 30,480."""
    bytes_, sums = code.vector(I8, 4), None
    for w, inputs in [(w, inputs_of(code, block, first)) for w, first in weights]:
        two = code.call("llvm.x86.avx2.pmadd.ub.sw", code.vector(I16, 2), w.bits_as(bytes_), inputs.bits_as(bytes_))
        sums = two if sums is None else sums + two
    assert sums is not None
    return code.call("llvm.x86.avx2.pmadd.wd", code.vector(I32), sums, code.constant(code.vector(I16, 2), 1))


def avx2_8(code: Code, weights: Weights, block: Vector, s: Vector, s_sum: Vector) -> Vector:
    """16 times the high halves, and the low ones: each is a product of 4 bits."""
    low = avx2_4(code, [(w & 0x0F0F0F0F, first) for w, first in weights], block)
    high = avx2_4(code, [((w >> 4) & 0x0F0F0F0F, first) for w, first in weights], block)
    return code.fma((low + (high << 4)).to_float(), s, s_sum * -128.0)


def x86_pause(code: Code) -> None:
    code.call("llvm.x86.sse2.pause", ir.VoidType())


def arm4(code: Code, weights: Weights, block: Vector) -> Vector:
    """Signed bytes by signed ones; the instruction takes an input's four from a register of sixteen."""
    inputs = [code.load(block, code.vector(I32), at) for at in (0, 16)]
    pairs = [(w, code.lane(inputs[first // 16], first % 16 // 4)) for w, first in weights]
    return summed(code, "llvm.aarch64.neon.sdot.v4i32.v16i8", pairs)


def arm8(code: Code, weights: Weights, block: Vector, s: Vector, s_sum: Vector) -> Vector:
    """A byte that is 128 too large is the signed one but for its highest bit."""
    return arm4(code, [(w.bits_as(code.vector(I8, 4)) ^ 0x80, first) for w, first in weights], block).to_float() * s


def arm_pause(code: Code) -> None:
    code.call("llvm.aarch64.hint", ir.VoidType(), code.constant(I32, 1))  # yield


@dataclass(frozen=True)
class Instructions:
    """features: LLVM's names of what a processor must have. dot4: sums of products of 4 bits, int32. dot8: of 8 bits, the 128 taken
    away, times an input's scale s, float32; s_sum is s times the input's sum. pause: a moment for whom this thread waits for."""

    name: str
    features: tuple[str, ...]
    dot4: Callable[[Code, Weights, Vector], Vector]
    dot8: Callable[[Code, Weights, Vector, Vector, Vector], Vector]
    pause: Callable[[Code], None]


SETS = {
    AVX512: Instructions("AVX-512 with VNNI", ("avx512vnni", "avx512bw", "avx512vl"), vnni4, vnni8, x86_pause),
    AVX2: Instructions("AVX2", ("avx2", "fma", "f16c"), avx2_4, avx2_8, x86_pause),
    ARM: Instructions("ARM with dot products", ("dotprod",), arm4, arm8, arm_pause),
}
NAMES = {isa: each.name for isa, each in SETS.items()}


FOUR_BY_FOUR = """
declare i32 @llvm.vector.reduce.add.v16i32(<16 x i32>)
define i32 @f(<16 x i8> %a, <16 x i8> %b) {
  %c = sext <16 x i8> %a to <16 x i32>
  %d = sext <16 x i8> %b to <16 x i32>
  %e = mul <16 x i32> %c, %d
  %f = call i32 @llvm.vector.reduce.add.v16i32(<16 x i32> %e)
  ret i32 %f
}
"""
"""Sixteen bytes by sixteen, in words that LLVM compiles for every processor; of ARM's, to dot products where it knows of them."""


def dot_products_are_known(triple: str, cpu: str, features: str) -> bool:
    """Whether LLVM knows of an ARM's dot products. Features need not list them: it goes by the processor's name, too.

    Where it does not know of them, it would end the process over a kernel that asks for them.
    """
    machine = binding.Target.from_triple(triple).create_target_machine(cpu=cpu, features=features)
    return "sdot" in machine.emit_assembly(binding.parse_assembly(FOUR_BY_FOUR))


def available() -> list[InstructionSet]:
    """Those that the kernels are written for and this processor has, the widest first."""
    has = dict(binding.get_host_cpu_features())
    if binding.get_process_triple().startswith(("aarch64", "arm64")):
        has["dotprod"] = dot_products_are_known(*cpu_target.target_context.codegen().magic_tuple())
    return [isa for isa, each in SETS.items() if all(has.get(feature) for feature in each.features)]


def best_instruction_set() -> InstructionSet:
    """The widest that is available. Raises RuntimeError where none is."""
    if not (found := available()):
        *names, last = NAMES.values()
        written, cpu = f"{', '.join(names)} and {last}", binding.get_host_cpu_name()
        raise RuntimeError(f"the quantized engine is written for {written}; this processor, {cpu} to LLVM, has none of them")
    return found[0]


def instructions(code: Code) -> Instructions:
    """Of the set that is being written."""
    return SETS[(0,) * code.lanes]
