"""What the trigger of a run brings with it, and steps that read what it only points at."""

from __future__ import annotations

from typing import Any

from mainspring.authoring.sketch.reads import PLENTY, SHORT, ReadMaterial
from mainspring.authoring.sketch.workbench import SketchBuilder


def trigger_material(bench: SketchBuilder, *, deep: bool) -> list[ReadMaterial]:
    """What the trigger brings; ``deep``: read what it only points at."""
    made: list[ReadMaterial] = []
    types = {str(one.get("type")) for one in bench.triggers}
    if "page_ingested" in types:
        made.append(_came_in(bench, deep))
    if "board_change" in types:
        made.append(_changed(bench, deep))
    if types & {"webhook", "event"} and not made:
        text = "{{ trigger | tojson }}"
        brief = f"{{{{ trigger | tojson | truncate({SHORT}) }}}}"
        if any(_follows_run(one) for one in bench.triggers):
            brief = (
                "{{ trigger.automation_name }}: {{ trigger.status }} "
                "{{ trigger.reason | default('', true) }}"
            )
        made.append(
            ReadMaterial("What was sent", text, brief, row="{{ trigger }}", value="{{ trigger }}")
        )
    return made


def _follows_run(trigger: dict[str, Any]) -> bool:
    type_ = trigger.get("config", {}).get("event_type", "automation.run.")
    return trigger.get("type") == "event" and str(type_).startswith("automation.run.")


def _came_in(bench: SketchBuilder, deep: bool) -> ReadMaterial:
    row = {"page_id": "{{ trigger.page_id }}", "title": "{{ trigger.title }}"}
    if not deep:
        return ReadMaterial(
            "{{ trigger.title }}", "{{ trigger.title }}", "{{ trigger.title }}", row=row
        )
    # Who sent it stands in the front matter.
    part = "markdown" if bench.narrowed else "body"
    name = bench.step("read_page", "get_page", {"id": "{{ trigger.page_id }}", "include": [part]})
    text = f"# {{{{ trigger.title }}}}\n{{{{ steps.{name}.{part} | truncate({PLENTY}) }}}}"
    return ReadMaterial("{{ trigger.title }}", text, "{{ trigger.title }}", output=name, row=row)


def _changed(bench: SketchBuilder, deep: bool) -> ReadMaterial:
    brief = "{{ trigger.board_name }}: {{ trigger.change }} ({{ trigger.count }})"
    if not deep and bench.row_test is None:
        return ReadMaterial("{{ trigger.board_name }}", brief, brief)
    name = bench.step(
        "read_board",
        "get_board",
        {"board_id": "{{ trigger.board_id }}", "dataset": "{{ trigger.dataset }}"},
    )
    test = "" if bench.row_test is None else f" and {bench.row_test}"
    text = (
        f"{{% for row in steps.{name}.data.datasets[trigger.dataset].rows %}}"
        f"{{% if row.row_id in trigger.row_ids{test} %}}{{{{ row | tojson }}}}\n"
        "{% endif %}{% endfor %}"
    )
    bench.note("Of a board with more than 1000 rows, only rows among the first 1000 are read.")
    if test:
        chosen = bench.step("choose_rows", "transform_data", {"output": {"text": text}})
        text = f"{{{{ steps.{chosen}.text }}}}"
        when = f"{{{{ steps.{chosen}.text | length > 0 }}}}"
        return ReadMaterial(
            "{{ trigger.board_name }}", text, text, when=when, output=chosen, gate=True
        )
    return ReadMaterial("{{ trigger.board_name }}", text, text, output=name)
