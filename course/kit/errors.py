"""The errors of a model on disk; each message is one line and says how to fix it."""


class ModelError(ValueError):
    """A model or tokenizer that cannot be used: wrong path, damaged file, architecture that the kit does not run."""


class ModelUnavailable(ModelError):
    """A model that the course knows by name but that is not on this machine yet."""
