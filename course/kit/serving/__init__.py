"""What a server passes around: how an answer is to be drawn, what a step gives, and what a refusal says. And a core to try it on."""

from ..virtual_loop import run_virtual
from .core import Core, EchoCore
from .messages import RequestError, SamplingParams, TokenOutput

__all__ = ["Core", "EchoCore", "RequestError", "SamplingParams", "TokenOutput", "run_virtual"]
