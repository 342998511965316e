"""Draws lengths of which one is the whole width and another is not."""


def ragged(shape, dims, generator):
    """Return lengths from 0 to t."""
    lengths = generator.integers(0, dims["t"], shape)
    lengths[generator.integers(shape[0])] = dims["t"]
    return lengths
