"""Decoding straight from the blocks of 4 and 8 bits in a GGUF file: `QuantizedEngine`."""

from .engine import Crew, QuantizedEngine, flatten_prompts
from .instruction_sets import AMX, ARM, AVX2, AVX512, NAMES, best_instruction_set
from .weights import QuantizedModel

__all__ = ["AMX", "ARM", "AVX2", "AVX512", "NAMES", "Crew", "QuantizedEngine", "QuantizedModel", "best_instruction_set", "flatten_prompts"]
