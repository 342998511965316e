"""An autograder that names the mistake: courses are declared, submissions only claim outputs."""

__version__ = "0.1.0"
