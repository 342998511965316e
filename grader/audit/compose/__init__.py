"""Random submissions made of known parts, graded, and judged by what was planted in them."""
