"""The page `/_local/`: a person shops through the API and watches what happens behind it. Never deployed."""

from local.page.site import STATE, Site
from local.page.state import SystemState

__all__ = ["STATE", "Site", "SystemState"]
