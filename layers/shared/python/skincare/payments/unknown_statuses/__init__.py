"""Events whose status we do not know."""
