"""Names: each step and each output is called one thing, and nothing else is.

Step ids are unique in the whole definition, because the history of a run is kept under
them. The output of a step is called by its ``output_as`` or, without one, by its id:
``steps.<name>`` and ``<name>`` alone; ``steps.<step_id>`` is always there. So neither may be a
word of the language, and an ``output_as`` may not be the id of another step.
"""

from __future__ import annotations

from mainspring.contracts.plain_names import name_findings
from mainspring.definition.pointers import join_pointer
from mainspring.definition.templates import RESERVED
from mainspring.definition.validate.outline import DefinitionOutline, StepOutline
from mainspring.definition.validate.report import FindingCollector


def check_names(outline: DefinitionOutline, sheet: FindingCollector) -> None:
    """Refuses names that are taken twice or belong to the language."""
    # A stored definition keeps its name and tags; new ones are refused when they are saved.
    for finding in name_findings(outline.name or ""):
        sheet.doubt(finding)
    for number, tag in enumerate(outline.tags):
        if isinstance(tag, str):
            for finding in name_findings(tag, join_pointer("/metadata/tags", number)):
                sheet.doubt(finding)
    steps = list(outline.steps())
    ids = _check_ids(steps, sheet)
    outputs = _check_outputs(steps, ids, sheet)
    for step in steps:
        if step.nested:
            _check_item(step, outputs, sheet)
    _check_triggers(outline, sheet)


def _check_ids(steps: list[StepOutline], sheet: FindingCollector) -> dict[str, str]:
    first: dict[str, str] = {}
    for step in steps:
        if step.step_id is None:
            continue
        pointer = join_pointer(step.pointer, "step_id")
        if step.step_id in RESERVED:
            _report_reserved(pointer, step.step_id, sheet)
        elif step.step_id in first:
            sheet.wrong(
                pointer,
                f"The step id {step.step_id!r} is taken by {first[step.step_id]}.",
                "duplicate_step_id",
                "Give each step an id of its own.",
            )
        first.setdefault(step.step_id, step.pointer)
    return first


def _check_outputs(
    steps: list[StepOutline], ids: dict[str, str], sheet: FindingCollector
) -> dict[str, str]:
    first: dict[str, str] = {}
    for step in steps:
        name = step.output_as
        if name is None:
            continue
        pointer = join_pointer(step.pointer, "output_as")
        if name in RESERVED:
            _report_reserved(pointer, name, sheet)
        elif name in first:
            detail = f"The output name {name!r} is taken by {first[name]}."
            sheet.wrong(pointer, detail, "duplicate_output", "Choose another name.")
        elif name in ids and ids[name] != step.pointer:
            detail = (
                f"{name!r} is the id of the step at {ids[name]}, so it cannot name this output."
            )
            sheet.wrong(pointer, detail, "duplicate_output", "Choose another name.")
        first.setdefault(name, step.pointer)
    return first


def _check_item(step: StepOutline, outputs: dict[str, str], sheet: FindingCollector) -> None:
    name = step.item_name
    pointer = join_pointer(step.pointer, "config", "as")
    if name in RESERVED and name != "item":
        _report_reserved(pointer, name, sheet)
    elif name in outputs:
        detail = f"The name {name!r} is the output of {outputs[name]}."
        sheet.wrong(pointer, detail, "duplicate_output", "Choose another name for the item.")


def _check_triggers(outline: DefinitionOutline, sheet: FindingCollector) -> None:
    first: dict[str, str] = {}
    for trigger in outline.triggers:
        if not trigger.id:
            continue
        if trigger.id in first:
            sheet.wrong(
                join_pointer(trigger.pointer, "id"),
                f"The trigger id {trigger.id!r} is taken by {first[trigger.id]}.",
                "duplicate_trigger_id",
                "Give each trigger an id of its own, or leave it out.",
            )
        first.setdefault(trigger.id, trigger.pointer)


def _report_reserved(pointer: str, name: str, sheet: FindingCollector) -> None:
    sheet.wrong(
        pointer,
        f"{name!r} is a word of the template language and cannot name a step or an output.",
        "reserved_name",
        f"Use another name, such as {name + '_step'!r}.",
    )
