"""The objects that a server passes around: sampling parameters, a step's tokens, and refusals; and a core to try a server on."""

from ..virtual_loop import run_virtual
from .core import Core, EchoCore
from .messages import RequestError, SamplingParams, TokenOutput

__all__ = ["Core", "EchoCore", "RequestError", "SamplingParams", "TokenOutput", "run_virtual"]
