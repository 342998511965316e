"""The version of grader, for whatever is written with it."""

VERSION = "0.1.0"
