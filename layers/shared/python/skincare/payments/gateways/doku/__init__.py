"""DOKU."""
