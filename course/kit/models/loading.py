"""`load_model`, `load_blocks` and `load_tokenizer`: a name of the course, a folder in Hugging Face's layout, or a GGUF file."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, overload

import torch
from torch import Tensor

from .. import paths
from ..errors import ModelError, ModelUnavailable
from .gguf_model import gguf_tokenizer, load_gguf, load_gguf_blocks
from .hf_folder import folder_config, folder_tokenizer, load_folder
from .model import Model
from .tokenizer import Tokenizer

DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
SMOLLM2_BYTES = 98_362_432
HOW_TO_FETCH = "`make lab` or `python -m course.kit.fetch` fetches it once (93 MB)"


@overload
def load_model(
    name_or_path: str | Path,
    *,
    dtype: torch.dtype = ...,
    device: str | torch.device = ...,
    missing: Literal["raise"] = ...,
) -> Model: ...


@overload
def load_model(
    name_or_path: str | Path, *, dtype: torch.dtype = ..., device: str | torch.device = ..., missing: Literal["none"]
) -> Model | None: ...


def load_model(
    name_or_path: str | Path,
    *,
    dtype: torch.dtype = torch.float32,
    device: str | torch.device = "cpu",
    missing: Literal["raise", "none"] = "raise",
) -> Model | None:
    """Return the model "tiny" or "smollm2", or the Llama-family model in a folder or a `.gguf` file.

    dtype is float32, float64, bfloat16 or float16: the type of the weights and of everything computed from them.
    Raises ModelError, one line with the remedy, for a model that cannot be loaded. If "smollm2" has not been fetched yet,
    missing="raise" raises ModelUnavailable (a ModelError); missing="none" prints that line and returns None.
    """
    if dtype not in DTYPES:
        raise ModelError(f"dtype must be one of {', '.join(map(str, DTYPES))}, got {dtype}")
    if torch.device(device).type == "cuda" and not torch.cuda.is_available():
        raise ModelError(f'device {str(device)!r} was asked for, but torch sees no GPU on this machine; use device="cpu"')
    found = _found(name_or_path, missing)
    if found is None:
        return None
    path, name = found
    load = load_folder if path.is_dir() else load_gguf
    return load(path, name, dtype, device)


def load_blocks(name_or_path: str | Path, *, missing: Literal["raise", "none"] = "raise") -> dict[str, Tensor] | None:
    """Return the weights of "smollm2", or of a `.gguf` file, as stored: name -> uint8 (rows, blocks in a row, bytes of a block).

    The result has the matrices in Q4_1 (20 bytes for 32 weights) and Q8_0 (34 bytes), without norms. Names are like "layers.3.q_proj" and
    "embed_tokens"; rows are in the order of `load_model`'s weights. `missing` and errors are those of `load_model`. A model that is not a
    GGUF file raises ModelError, too.
    """
    found = _found(name_or_path, missing)
    if found is None:
        return None
    path, name = found
    if path.is_dir():
        raise ModelError(f"{name} is stored as float weights, not in blocks; give 'smollm2' or a .gguf file")
    return load_gguf_blocks(path, name)


def load_tokenizer(name_or_path: str | Path) -> Tokenizer:
    """Return the tokenizer of "tiny" or "smollm2" (which needs no model file), of a folder, or of a `.gguf` file."""
    if name_or_path == "smollm2":
        return Tokenizer.from_folder(paths.SMOLLM2_TOKENIZER, name="smollm2")
    path, name = _find(name_or_path)
    if path.is_dir():
        return folder_tokenizer(path, folder_config(path, name))
    return gguf_tokenizer(path, name)


def _found(name_or_path: str | Path, missing: str) -> tuple[Path, str] | None:
    """Return path and name of the model to load. If SmolLM2 is missing and missing="none", print one line and return None."""
    if missing not in ("raise", "none"):
        raise ModelError(f'missing must be "raise" or "none", got {missing!r}')
    try:
        return _find(name_or_path)
    except ModelUnavailable as error:
        if missing == "raise":
            raise
        print(error)
        return None


def _find(name_or_path: str | Path) -> tuple[Path, str]:
    """Return path and name of the model to load."""
    if name_or_path == "tiny":
        return paths.TINY, "tiny"
    if name_or_path == "smollm2":
        if not paths.SMOLLM2.is_file():
            raise ModelUnavailable(f"SmolLM2 is not on this machine yet: {HOW_TO_FETCH}")
        if (size := paths.SMOLLM2.stat().st_size) != SMOLLM2_BYTES:
            short = f"{paths.SMOLLM2} is damaged: {size:,} bytes instead of {SMOLLM2_BYTES:,}"
            raise ModelError(f"{short}; delete it, then {HOW_TO_FETCH}")
        return paths.SMOLLM2, "smollm2"
    path = Path(name_or_path).expanduser()
    if path.is_dir():
        return path, path.resolve().name
    if path.is_file() and path.suffix == ".gguf":
        return path, path.stem
    what = "is a file but no .gguf file" if path.is_file() else "is not on this machine"
    raise ModelError(f"{str(name_or_path)!r} {what}; give 'tiny', 'smollm2', a model's folder or a .gguf file")
