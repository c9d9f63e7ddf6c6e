"""The blocks of a GGUF file, moved into tiles: the same bytes, `lanes` rows side by side. No number changes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from course.kit.errors import ModelError
from course.kit.models.config import config_from_gguf
from course.kit.models.gguf_file import BLOCK_SIZE, Q4_1, Q4_1_BYTES, Q8_0, Q8_0_BYTES, GGUFFile

Bytes = NDArray[np.uint8]


def blocks(file: GGUFFile, name: str, kind: int, num_heads: int | None = None) -> Bytes:
    """Return the blocks of a weight (rows, columns) -> (rows, blocks a row, bytes a block), all of one kind.

    num_heads is as in `GGUFFile.blocks`. Raises ModelError if the weight is missing or in blocks of another kind.
    """
    tensor = file.tensors.get(name)
    if tensor is None or tensor.kind != kind or tensor.shape[1] % BLOCK_SIZE:
        raise ModelError(f"{file.path}: {name} is not in the blocks that the quantized engine reads (Q4_1, the embedding Q8_0)")
    return file.blocks(name, num_heads).numpy()


def tiles4(raw: Bytes, lanes: int) -> Bytes:
    """Reorder Q4_1 blocks (rows, blocks, 20) -> (rows / lanes, blocks, 20 * lanes): numbers, scales, minima of `lanes` rows."""
    rows, count, _ = raw.shape
    sets = raw.reshape(rows // lanes, lanes, count, Q4_1_BYTES).transpose(0, 2, 1, 3)  # (tiles, blocks, lanes, 20)
    numbers = sets[..., 4:].reshape(*sets.shape[:3], 4, 4).transpose(0, 1, 3, 2, 4)  # (tiles, blocks, 4, lanes, 4)
    parts = (numbers, sets[..., 0:2], sets[..., 2:4])
    return np.concatenate([np.ascontiguousarray(part).reshape(rows // lanes, count, -1) for part in parts], axis=-1)


def tiles8(raw: Bytes, lanes: int) -> Bytes:
    """Reorder Q8_0 blocks (rows, blocks, 34) -> (rows / lanes, blocks, 34 * lanes): numbers plus 128, and scales of `lanes` rows."""
    rows, count, _ = raw.shape
    sets = raw.reshape(rows // lanes, lanes, count, Q8_0_BYTES).transpose(0, 2, 1, 3)
    numbers = (sets[..., 2:] ^ 0x80).reshape(*sets.shape[:3], 8, 4).transpose(0, 1, 3, 2, 4)
    parts = (numbers, sets[..., 0:2])
    return np.concatenate([np.ascontiguousarray(part).reshape(rows // lanes, count, -1) for part in parts], axis=-1)


class QuantizedModel:
    """The parts of a GGUF file that a pass reads: a Llama model with Q4_1 weights and a Q8_0 embedding that is also the head."""

    def __init__(self, path: Path, lanes: int) -> None:
        """Read the file. Raises ModelError for an unsupported model."""
        file = GGUFFile(path)
        of = file.metadata
        if of.get("general.architecture") != "llama" or "llama.block_count" not in of or "output.weight" in file.tensors:
            raise ModelError(f"{path}: the quantized engine reads models of the Llama family whose embedding is also the head")
        self.config = config = config_from_gguf(of, file.tensors, path.stem)
        self.layers, self.width, self.heads = config.num_hidden_layers, config.hidden_size, config.num_attention_heads
        self.key_heads, self.inner = config.num_key_value_heads, config.intermediate_size
        self.head_dim, self.vocab_size = config.head_dim, config.vocab_size
        self.epsilon, self.base = config.rms_norm_eps, config.rope_theta
        if self.head_dim != 64 or self.vocab_size % lanes:
            raise ModelError(
                f"{path}: the quantized engine is made for heads of 64 numbers and a vocabulary of a multiple of {lanes} tokens, "
                f"got {self.head_dim} and {self.vocab_size}"
            )

        def stacked(names: list[tuple[str, int | None]]) -> Bytes:
            layers = []
            for i in range(self.layers):
                raw = [blocks(file, f"blk.{i}.{name}.weight", Q4_1, heads) for name, heads in names]
                layers.append(tiles4(np.concatenate(raw), lanes))
            return np.stack(layers)

        def norms(name: str) -> NDArray[np.float32]:
            return np.stack([file.read(f"blk.{i}.{name}.weight").numpy() for i in range(self.layers)])

        self.weights = (
            tiles8(blocks(file, "token_embd.weight", Q8_0), lanes),
            norms("attn_norm"),
            stacked([("attn_q", self.heads), ("attn_k", self.key_heads), ("attn_v", None)]),
            stacked([("attn_output", None)]),
            norms("ffn_norm"),
            stacked([("ffn_gate", None)]),
            stacked([("ffn_up", None)]),
            stacked([("ffn_down", None)]),
            file.read("output_norm.weight").numpy(),
        )
