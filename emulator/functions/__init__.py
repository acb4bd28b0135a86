"""Lambda: containers around the Runtime API, pools of them, and the ways to invoke: by name and by a schedule."""
