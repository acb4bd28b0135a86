"""What the books do not agree about: looked for in pieces, listed, and settled by people."""
