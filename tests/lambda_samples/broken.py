"""A module that cannot be imported."""

raise RuntimeError("the module is broken")
