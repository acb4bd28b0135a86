"""Xendit."""
