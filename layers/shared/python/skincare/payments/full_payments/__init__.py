"""Payments that pay a pending order in full and leave nothing to consider: nearly all, applied many at once."""
