"""A submission's own process: it is started, confined, called and measured here."""
