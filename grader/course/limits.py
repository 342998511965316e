"""What a submission may use, of a course and of one exercise; and how far numbers may be apart."""

from pydantic import Field

from grader.course.record import Record


class Limits(Record):
    """What one submission may use."""

    case_seconds: float = Field(gt=0, description="wall seconds for one call")
    target_seconds: float = Field(gt=0, description="wall seconds for one target")
    submission_seconds: float = Field(gt=0, description="wall seconds for one exercise's file")
    total_seconds: float | None = Field(
        default=None,
        gt=0,
        description="wall seconds for all exercises of a submission together; "
        "twice `submission_seconds` where it is not given",
    )
    cpu_seconds: int = Field(gt=0, description="CPU seconds for one process")
    data_mib: int = Field(gt=0, description="MiB of memory that the code may take")
    answer_mib: float = Field(gt=0, description="MiB that the answer to one call may have")
    output_kib: int = Field(gt=0, description="KiB of printed output that are kept")
    message_kib: int = Field(gt=0, description="KiB of an error's text that are kept")
    source_kib: int = Field(gt=0, description="KiB that one submitted file may have")
    open_files: int = Field(gt=0, description="file descriptors")
    restarts: int = Field(ge=0, description="fresh processes for a target after a hang or crash")

    @property
    def together_seconds(self) -> float:
        """The wall seconds for all exercises of a submission together."""
        return self.total_seconds or 2 * self.submission_seconds


class OwnLimits(Record):
    """Limits of one exercise in place of the course's; what it leaves out is as the course says."""

    case_seconds: float | None = Field(default=None, gt=0, description="wall seconds for one call")
    target_seconds: float | None = Field(
        default=None, gt=0, description="wall seconds for one target"
    )
    submission_seconds: float | None = Field(
        default=None,
        gt=0,
        description="wall seconds for its file; what is more than the course's is added to "
        "`total_seconds`",
    )
    cpu_seconds: int | None = Field(default=None, gt=0, description="CPU seconds for one process")
    data_mib: int | None = Field(
        default=None, gt=0, description="MiB of memory that the code may take"
    )
    answer_mib: float | None = Field(
        default=None, gt=0, description="MiB that the answer to one call may have"
    )


_ENLARGED = 10  # times as far may gradients be off in float32 as values are


class Tolerance(Record):
    """How far two numbers may be apart: atol + rtol * |expected|."""

    rtol: float = Field(gt=0, description="the part that grows with the expected number")
    atol: float = Field(gt=0, description="the part that is always there")


class Tolerances(Record):
    """Tolerances by the dtype that the comparison runs in."""

    float64: Tolerance = Field(description="for the first comparison")
    float32: Tolerance = Field(description="for code that insists on float32")

    @property
    def of_gradients(self) -> "Tolerances":
        """Those of gradients, which carry on what values are off by in float32, and enlarge it."""
        rtol, atol = (_ENLARGED * one for one in (self.float32.rtol, self.float32.atol))
        return Tolerances(float64=self.float64, float32=Tolerance(rtol=rtol, atol=atol))
