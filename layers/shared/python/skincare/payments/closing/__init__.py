"""Payments of an order that takes no more money: closed at their gateways."""
