"""Writes the JSON schema of course.yml, for editors: python -m grader.course.schema."""

import json
from pathlib import Path

from grader.course.kinds import course_model

SCHEMA_FILE = Path(__file__).with_name("course.schema.json")


def schema_text() -> str:
    """Return the schema as it is kept beside this module."""
    return json.dumps(course_model().model_json_schema(), indent=1, sort_keys=True) + "\n"


if __name__ == "__main__":
    SCHEMA_FILE.write_text(schema_text(), encoding="utf-8")
