"""What money that goes back sets off: a credit note, a mail, and goods that are for sale again."""
