"""What does not add up, in PostgreSQL: what is looked through, how far it is, and what was found."""
