"""Pairs of submissions whose code is alike, beyond what the course and the class make alike."""
