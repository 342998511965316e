"""The course as students get it: made of a whole course, and searched for leaks."""
