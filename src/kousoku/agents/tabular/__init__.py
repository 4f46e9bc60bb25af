"""Agents with tables of action values, each a file that reads beside its page of the textbook."""
