"""The course format: what an exercise is, read from course.yml."""
