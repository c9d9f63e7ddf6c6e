"""The code that differs between kinds of processor: sums of products of bytes, and waiting. LLVM finds everything else itself.

A weight's bytes are 0 to 15, or 0 to 255 and 128 too large; an input's are -127 to 127.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import llvmlite.ir as ir
from llvmlite import binding
from numba.core.registry import cpu_target

from .permission import granted
from .vectors import I8, I16, I32, Code, Vector

InstructionSet = tuple[int, ...]
AMX, AVX512, AVX2, ARM = (1,) * 16, (0,) * 16, (0,) * 8, (0,) * 4
"""An instruction set, as an argument: numba sees its type, whose length is the number of float32 lanes of a register.

AMX comes with AVX-512 and has the same type: the kernels are AVX-512's, and those in `amx.py` besides.
"""
Weights = list[tuple[Vector, int]]
"""Registers of a tile, each with the index of the block's number that it begins with."""


def summed(code: Code, name: str, pairs: list[tuple[Vector, Vector]]) -> Vector:
    """Add the products of four neighbouring bytes to each int32 lane, with the processor's instruction for this."""
    bytes_, total = code.vector(I8, 4), code.constant(code.vector(I32), 0)
    for weights, inputs in pairs:
        total = code.call(name, total.type, total, weights.bits_as(bytes_), inputs.bits_as(bytes_))
    return total


def inputs_of(code: Code, block: Vector, first: int) -> Vector:
    """Load numbers first to first + 3 of an input block into every lane."""
    return code.everywhere(code.load(block, I32, first))


def vnni4(code: Code, weights: Weights, block: Vector) -> Vector:
    """Multiply unsigned bytes by signed bytes."""
    return summed(code, "llvm.x86.avx512.vpdpbusd.512", [(w, inputs_of(code, block, first)) for w, first in weights])


def vnni8(code: Code, weights: Weights, block: Vector, s: Vector, s_sum: Vector) -> Vector:
    return code.fma(vnni4(code, weights, block).to_float(), s, s_sum * -128.0)


def avx2_4(code: Code, weights: Weights, block: Vector) -> Vector:
    """Multiply and sum two neighbours at a time in int16.

    Eight such pairs with weights of at most 15 fit into int16: 8 * 2 * 15 * 127 = 30,480.
    """
    bytes_, sums = code.vector(I8, 4), None
    for w, inputs in [(w, inputs_of(code, block, first)) for w, first in weights]:
        two = code.call("llvm.x86.avx2.pmadd.ub.sw", code.vector(I16, 2), w.bits_as(bytes_), inputs.bits_as(bytes_))
        sums = two if sums is None else sums + two
    assert sums is not None
    return code.call("llvm.x86.avx2.pmadd.wd", code.vector(I32), sums, code.constant(code.vector(I16, 2), 1))


def avx2_8(code: Code, weights: Weights, block: Vector, s: Vector, s_sum: Vector) -> Vector:
    """Compute 16 times the product of the high halves plus the product of the low halves; both are products of 4 bits."""
    low = avx2_4(code, [(w & 0x0F0F0F0F, first) for w, first in weights], block)
    high = avx2_4(code, [((w >> 4) & 0x0F0F0F0F, first) for w, first in weights], block)
    return code.fma((low + (high << 4)).to_float(), s, s_sum * -128.0)


def x86_pause(code: Code) -> None:
    code.call("llvm.x86.sse2.pause", ir.VoidType())


def arm4(code: Code, weights: Weights, block: Vector) -> Vector:
    """Multiply signed bytes by signed bytes; the instruction takes an input's four bytes from a register of sixteen."""
    inputs = [code.load(block, code.vector(I32), at) for at in (0, 16)]
    pairs = [(w, code.lane(inputs[first // 16], first % 16 // 4)) for w, first in weights]
    return summed(code, "llvm.aarch64.neon.sdot.v4i32.v16i8", pairs)


def arm8(code: Code, weights: Weights, block: Vector, s: Vector, s_sum: Vector) -> Vector:
    """Multiply bytes that are 128 too large. Each differs from the signed byte only in the highest bit."""
    return arm4(code, [(w.bits_as(code.vector(I8, 4)) ^ 0x80, first) for w, first in weights], block).to_float() * s


def arm_pause(code: Code) -> None:
    code.call("llvm.aarch64.hint", ir.VoidType(), code.constant(I32, 1))  # yield


@dataclass(frozen=True)
class Instructions:
    """The instructions of one kind of processor.

    features: LLVM's names of the features that a processor must have. dot4: sums of products of 4 bits, int32. dot8: sums of products of 8
    bits, with the 128 subtracted, times an input's scale s, float32; s_sum is s times the input's sum. pause: a short pause for a thread
    that waits for another.
    """

    name: str
    features: tuple[str, ...]
    dot4: Callable[[Code, Weights, Vector], Vector]
    dot8: Callable[[Code, Weights, Vector, Vector, Vector], Vector]
    pause: Callable[[Code], None]


VNNI = ("avx512vnni", "avx512bw", "avx512vl")
SETS = {
    AMX: Instructions("AMX and AVX-512 with VNNI", ("amx-tile", "amx-bf16", *VNNI), vnni4, vnni8, x86_pause),
    AVX512: Instructions("AVX-512 with VNNI", VNNI, vnni4, vnni8, x86_pause),
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
"""Product of sixteen bytes by sixteen, in LLVM code that compiles for every processor.

For an ARM processor it becomes dot products if LLVM knows that the processor has them.
"""


def dot_products_are_known(triple: str, cpu: str, features: str) -> bool:
    """Return True if LLVM knows that an ARM processor has dot products.

    The features need not list dot products, because LLVM uses the processor's name, too. Otherwise LLVM ends the process at a kernel with
    dot products.
    """
    machine = binding.Target.from_triple(triple).create_target_machine(cpu=cpu, features=features)
    return "sdot" in machine.emit_assembly(binding.parse_assembly(FOUR_BY_FOUR))


def available() -> list[InstructionSet]:
    """Return the instruction sets that have kernels and work on this processor, the widest first."""
    has = dict(binding.get_host_cpu_features())
    if binding.get_process_triple().startswith(("aarch64", "arm64")):
        has["dotprod"] = dot_products_are_known(*cpu_target.target_context.codegen().magic_tuple())
    found = [isa for isa, each in SETS.items() if all(has.get(feature) for feature in each.features)]
    return [isa for isa in found if isa != AMX or granted()]


def best_instruction_set() -> InstructionSet:
    """Return the widest available instruction set. Raises RuntimeError if there is none."""
    if not (found := available()):
        *names, last = (name for isa, name in NAMES.items() if isa != AMX)
        written, cpu = f"{', '.join(names)} and {last}", binding.get_host_cpu_name()
        raise RuntimeError(f"the quantized engine is written for {written}; this processor, {cpu} to LLVM, has none of them")
    return found[0]


def instructions(code: Code) -> Instructions:
    """Return the instructions of the instruction set for which code is being written."""
    return SETS[(0,) * code.lanes]
