"""What stands on the shelf, what of it is reserved, and every movement that led there."""
