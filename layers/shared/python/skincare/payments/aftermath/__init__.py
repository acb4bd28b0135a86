"""What money that goes back sets off: a mail, and goods that are for sale again."""
