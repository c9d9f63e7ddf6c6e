"""Models and tokenizers: read from files, loaded by name."""
