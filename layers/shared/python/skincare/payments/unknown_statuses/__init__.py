"""What gateways say in words that we do not know."""
