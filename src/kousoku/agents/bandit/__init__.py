"""Agents for bandits: one state, many arms (Sutton and Barto, chapter 2)."""
