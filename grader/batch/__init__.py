"""Grades a whole class: finds submissions, grades them on all cores, keeps results."""
