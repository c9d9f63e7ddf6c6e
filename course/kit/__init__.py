"""What lessons need and do not teach: models and tokenizers.

`course.kit.plots` and `course.kit.widgets` are imported by the cells that use them.
"""

from .chat import ChatMessage
from .config import Config
from .errors import ModelError, ModelUnavailable
from .loading import load_model, load_tokenizer
from .model import Model, WeightsOnly
from .tokenizer import Tokenizer
from .weights import LayerWeights, Weights

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
    "load_model",
    "load_tokenizer",
]
