"""Processes and threads: none outlives us, and none dies in silence."""
