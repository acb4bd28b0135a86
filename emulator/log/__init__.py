"""What the system says: on a terminal for people, and in files."""
