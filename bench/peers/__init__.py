"""Other job queues doing the same job. What runs in their environment are scripts, found by their file name."""
