"""Sensors: what a robot measures of a state and of what it brings about."""

from __future__ import annotations

from .readings import DONE, readings, sensors

__all__ = ["DONE", "readings", "sensors"]
