"""The automations of templates are ordinary definitions, bound to one workflow and one board."""

from __future__ import annotations

import pytest

from mainspring.app import build_registry
from mainspring.contracts.limits import Limits
from mainspring.definition.validate import validate
from mainspring.workspace.workflows.templates import TEMPLATES, build_definition

WORDS = build_registry(Limits())
WORKFLOW, BOARD = "01900000-0000-7000-8000-00000000000f", "01900000-0000-7000-8000-00000000000b"
WHEN = {
    "progress_scorer": "0 9 * * *",
    "task_nudger": "0 8 * * *",
    "milestone_reviewer": "0 18 * * 5",
}


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_template_is_a_definition_that_fits(template: str) -> None:
    # A title may look like a template itself: it never becomes a part of one.
    document = build_definition(
        template, "{{ secrets.key }}" * 20, WORKFLOW, BOARD, "Europe/Berlin"
    )
    report = validate(document, WORDS, Limits())
    assert (report.findings, report.warnings) == ((), ())
    trigger = document["triggers"][0]["config"]
    assert (trigger["cron"], trigger["timezone"]) == (WHEN[template], "Europe/Berlin")
    grants = {grant.capability: grant.params for grant in report.grants}
    reads = {"workflow_id": WORKFLOW, "standing": True, "timezone": "Europe/Berlin"}
    assert grants.pop("get_workflow") == document["plan"][0]["config"] == reads
    assert grants.keys() <= {"append_board_rows", "inbox.post_notification", "create_page"}
    if template != "milestone_reviewer":
        rows = grants["append_board_rows"]
        assert (rows["board_id"], rows["dedupe_key_field"]) == (BOARD, "key")
        assert rows["dataset"] in ("progress", "nudges")
