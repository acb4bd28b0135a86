"""What is kept how long, and the removal of what has had its time."""
