"""Figures that one steps through."""
