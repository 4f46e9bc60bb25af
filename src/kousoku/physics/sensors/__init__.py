"""Sensors (mj_sensorPos, -Vel, -Acc): what a robot measures of a state and of what it brings about.

readings        all sensors, in MuJoCo's order, and a function for each type
inputs          what they measure from
frame, touch, contact, rangefinder: the larger types
rne_postconstraint: accelerations of bodies and forces between them, which some types need
"""

from __future__ import annotations

from .readings import SUPPORTED, readings, sensors

__all__ = ["SUPPORTED", "readings", "sensors"]
