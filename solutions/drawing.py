"""Rules of the course that draw inputs, by name; they run where keys are built."""


def ragged(shape, dims, generator):
    """Return lengths from 0 to m: nothing, all, and some between where there is room."""
    lengths = generator.integers(1, dims["m"], shape)
    places = generator.permutation(shape[0])
    lengths[places[0]] = dims["m"]
    lengths[places[1:2]] = 0
    return lengths


def text_lengths(shape, dims, generator):
    """Return how many tokens of each text are real: one all, another fewer, and two at least."""
    lengths = generator.integers(2, dims["t"] + 1, shape)
    full, short = generator.permutation(shape[0])[:2]
    lengths[full], lengths[short] = dims["t"], generator.integers(2, dims["t"])
    return lengths
