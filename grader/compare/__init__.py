"""Checks: pure functions of answers and key."""
