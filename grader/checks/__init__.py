"""All checks of a target: planned, judged and listed."""
