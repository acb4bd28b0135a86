"""What gateways answer when they are asked."""
