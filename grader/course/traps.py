"""What an exception can be about that a lesson may warn of; a course says where."""

from enum import StrEnum


class Trap(StrEnum):
    """A usual cause of an exception; the lesson's passage on it is the course's to name."""

    NOT_CONTIGUOUS = "not-contiguous"  # view of a tensor whose numbers are not in order
    AXES_REVERSED = "axes-reversed"  # .T of more than two axes
    ANOTHER_INPUT = "another-input"  # a layer reads another tensor than the one of its width
    NOT_BROUGHT_BACK = "not-brought-back"  # a function that rearranges the axes is not called
    WEIGHT_TURNED = "weight-turned"  # a raw weight the wrong way round
    AXIS_DROPPED = "axis-dropped"  # a sum without keepdim
    SLICE_FILLED = "slice-filled"  # more or fewer columns than a slice has
    THROWN_AWAY = "thrown-away"  # a line that makes a new tensor and keeps nothing of it
    INDEX_BEYOND = "index-beyond"  # a table has fewer rows than the index asks for
