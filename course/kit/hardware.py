"""The peaks of machines that people have, from their makers' datasheets.

A peak is the rate for dense matrices of 16-bit numbers (fp16 or bf16); makers often print twice that number, for sparse matrices. If a
maker gives no such number, the source says which one is used instead. Memory is in decimal GB.
"""

from dataclasses import dataclass

from .machine import Machine


@dataclass(frozen=True)
class Hardware:
    """A machine, its memory for weights and caches, and the source of the three numbers."""

    machine: Machine
    memory_bytes: float
    source: str


def _hardware(name: str, tflops: float, gb_per_second: float, memory_gb: float, source: str) -> Hardware:
    return Hardware(Machine(tflops * 1e12, gb_per_second * 1e9, name), memory_gb * 1e9, source)


HARDWARE = (
    # The datasheet's 2,039 GB/s, rounded as in most texts.
    _hardware("A100", 312, 2000, 80, "NVIDIA A100 80GB datasheet, SXM column: 312 TFLOPS bf16, 2,039 GB/s"),
    _hardware("H100", 989, 3350, 80, "NVIDIA H100 datasheet, SXM column: 1,979 TFLOPS bf16 with sparsity, half of it dense; 3.35 TB/s"),
    _hardware("H200", 989, 4800, 141, "NVIDIA H200 datasheet, SXM column: 1,979 TFLOPS bf16 with sparsity, half of it dense; 4.8 TB/s"),
    _hardware("RTX 4090", 165.2, 1008, 24, "NVIDIA Ada GPU architecture whitepaper, appendix A: fp16 tensor with fp32 accumulate, dense"),
    # Its maker gives no figure for 16 bits.
    _hardware("Apple M1 Max", 10.4, 400, 64, "Apple, October 2021: 400 GB/s, 64 GB; GPU of 32 cores, 10.4 TFLOPS in float32"),
    _hardware("TPU v5e", 197, 819, 16, "Google Cloud documentation, TPU v5e: 197 TFLOPS bf16, 819 GB/s, 16 GB"),
    _hardware("Inferentia2", 190, 820, 32, "AWS Neuron documentation, Inferentia2 architecture: 190 TFLOPS bf16, 820 GB/s, 32 GB"),
)
