"""Orders, payments and what gateways say, held against each other."""
