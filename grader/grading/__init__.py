"""One submission from text to result: the way of a submission, top-down."""
