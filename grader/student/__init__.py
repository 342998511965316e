"""What helps a student along: a course's start, watching, progress, hints, packing."""
