"""One message of a conversation."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ChatMessage:
    """A message. role is `system`, `user` or `assistant`; content is plain text."""

    role: str
    content: str
