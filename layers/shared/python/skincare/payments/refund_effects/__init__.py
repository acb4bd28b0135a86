"""The effects of a refund: a credit note, a mail, and goods that are for sale again."""
