# process, beside correct and wrong: searches every object of the process for the grader's own
import gc
import sys

SECRET = ("grader.key", "grader.compare", "grader.course", "grader.plan", "grader.grading", "grader.records", "grader.handin")
for name in list(sys.modules):
    if name.startswith(SECRET):
        print("OUCH", name, flush=True)
for one in gc.get_objects():
    if type(one).__name__ in ("AnswerKey", "CourseFolder", "Suspects", "BugBook", "Evidence"):
        print("OUCH", type(one), flush=True)
