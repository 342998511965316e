"""What was handed in: reads files, archives and notebooks, and looks at their text."""
