"""The command line: parses, calls, renders. Commands import what they need when they run."""
