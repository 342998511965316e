"""The pages of a class: one for who teaches it, and one for each student."""

from grader.classes.feedback import Feedback
from grader.classes.insight import Insight
from grader.classes.statistics import FEWEST
from grader.classes.summary import Summary
from grader.report.pages import render


def render_class(summary: Summary, insight: Insight) -> str:
    """Return the page of the class, which links to `students/`."""
    return render("class.html.j2", summary=summary, insight=insight, fewest=FEWEST)


def render_student(own: Feedback) -> str:
    """Return one person's page."""
    return render("student.html.j2", own=own)
