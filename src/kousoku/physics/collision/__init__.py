"""Contacts between pairs of shapes."""
