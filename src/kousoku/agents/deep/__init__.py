"""Agents with networks."""
