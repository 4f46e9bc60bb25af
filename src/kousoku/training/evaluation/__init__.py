"""Greedy episodes of what was learned: evaluations, films, policies, and the exact values to compare with."""
