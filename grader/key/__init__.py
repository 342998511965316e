"""The answer key: what the reference returns on every call, built once and cached by content."""
