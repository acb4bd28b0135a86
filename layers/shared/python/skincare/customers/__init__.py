"""What is known about a customer as a person: handing it out, and erasing it."""
