"""Money that does not fit, and the work that it leaves."""
