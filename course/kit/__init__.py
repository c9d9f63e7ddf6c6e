"""The parts that lessons need and do not teach: models and tokenizers.

`course.kit.plots` and `course.kit.playgrounds` are imported by the cells that use them.

A name is imported at its first use (PEP 562): `course.kit.paths` alone does not wait for torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .chat import ChatMessage
    from .errors import ModelError, ModelUnavailable
    from .models.config import Config
    from .models.loading import load_blocks, load_model, load_tokenizer
    from .models.model import Model, WeightsOnly
    from .models.tokenizer import Tokenizer
    from .models.weights import LayerWeights, Weights

__all__ = [
    "ChatMessage",
    "Config",
    "LayerWeights",
    "Model",
    "ModelError",
    "ModelUnavailable",
    "Tokenizer",
    "Weights",
    "WeightsOnly",
    "load_blocks",
    "load_model",
    "load_tokenizer",
]

HOMES = {
    "ChatMessage": "chat",
    "Config": "models.config",
    "LayerWeights": "models.weights",
    "Model": "models.model",
    "ModelError": "errors",
    "ModelUnavailable": "errors",
    "Tokenizer": "models.tokenizer",
    "Weights": "models.weights",
    "WeightsOnly": "models.model",
    "load_blocks": "models.loading",
    "load_model": "models.loading",
    "load_tokenizer": "models.loading",
}
"""The homes of the names: name -> the module that defines it."""

if not TYPE_CHECKING:  # a type checker that saw it would take any name for one of ours

    def __getattr__(name: str) -> Any:
        if name not in HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = globals()[name] = getattr(import_module(f".{HOMES[name]}", __name__), name)
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
