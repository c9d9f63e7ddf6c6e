"""The errors of a model on disk; each message is one line and says how to fix it."""


class ModelError(ValueError):
    """An error of a model or tokenizer: a wrong path, a damaged file, an architecture that the kit does not support."""


class ModelUnavailable(ModelError):
    """An error for a model of the course that is not on this machine yet."""
