"""Orders that nobody pays in time: asked about first, then closed."""
