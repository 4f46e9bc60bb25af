"""Falling balls in a box, with exact bounces and the right derivatives through them."""
