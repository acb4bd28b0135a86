"""The modular monolith that every function of the shop shares."""
