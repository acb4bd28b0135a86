"""Credit notes: what of an invoice is taken back when money goes back."""
