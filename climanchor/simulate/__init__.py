"""Data whose truth is known: toy structural models and a synthetic archive of climate models."""

from climanchor.simulate.samples import control, prepared

__all__ = ["control", "prepared"]
