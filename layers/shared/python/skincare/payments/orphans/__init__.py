"""Payment events without their order: they wait, and no job with them."""
