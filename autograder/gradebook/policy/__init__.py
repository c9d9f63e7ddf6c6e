"""Deadlines, late work, the roster and the steps of a round."""
