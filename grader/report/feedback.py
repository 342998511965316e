"""The pages of a class: one for who teaches it, and one for each student."""

from grader.batch.feedback import Feedback
from grader.batch.insight import Insight
from grader.batch.items import FEWEST
from grader.batch.summary import Summary
from grader.report.pages import render


def render_class(summary: Summary, insight: Insight) -> str:
    """Return the page of the class, which links to `students/`."""
    return render("class.html.j2", summary=summary, insight=insight, fewest=FEWEST)


def render_student(own: Feedback) -> str:
    """Return one person's page."""
    return render("student.html.j2", own=own)
