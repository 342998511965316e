"""Grading from a notebook's cells."""
