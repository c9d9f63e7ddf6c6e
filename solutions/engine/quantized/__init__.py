"""Decoding straight from the blocks of 4 and 8 bits that a GGUF file holds: `QuantizedEngine`."""

from .engine import NAMES, Crew, QuantizedEngine, best_instruction_set
from .vectors import AVX2, AVX512
from .weights import QuantizedModel

__all__ = ["AVX2", "AVX512", "NAMES", "Crew", "QuantizedEngine", "QuantizedModel", "best_instruction_set"]
