"""Builds the scripts of a definition when it is saved, not at their first run.

The static analysis is lenient; the build is not. When a machine cannot build, or not soon enough,
the definition is saved anyway: the first run builds then.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import Finding, Invalid, describe_for_log
from mainspring.definition.model import Definition
from mainspring.definition.strict_json import join_pointer
from mainspring.definition.validate import ValidationReport

if TYPE_CHECKING:
    from mainspring.actions.script.runner import ScriptRunner

# The time limit for all scripts of a definition together, while the author waits.
_SECONDS: Final = 20.0
_SCRIPT: Final = "script"

_log = logging.getLogger(__name__)


async def prebuild_scripts(
    script_runner: ScriptRunner | None, workspace_id: UUID, report: ValidationReport
) -> ValidationReport:
    """The validation report of a definition, with the findings of its builds."""
    if report.definition is None:
        return report
    try:
        await check_builds(script_runner, workspace_id, report.definition)
    except Invalid as unfit:
        moved = [(note.pointer, note.was) for note in report.notes if note.was is not None]
        moved.sort(key=lambda change: -len(change[0]))
        findings = tuple(_as_written(finding, moved) for finding in unfit.findings)
        return ValidationReport(findings, report.warnings, report.notes)
    return report


async def check_builds(
    script_runner: ScriptRunner | None, workspace_id: UUID, definition: Definition
) -> None:
    """Refuse a definition with a script that is not valid TypeScript."""
    if script_runner is None:
        return
    findings = []
    try:
        async with asyncio.timeout(_SECONDS):
            for pointer, source in list_script_sources(definition):
                try:
                    await script_runner.build(workspace_id, source)
                except Invalid as unfit:
                    code = unfit.code or "script_syntax"
                    findings.append(Finding(pointer, unfit.detail, code, unfit.suggestion))
    except Exception as error:
        _log.warning("Scripts were saved without being built: %s", describe_for_log(error))
    if findings:
        count = "A script" if len(findings) == 1 else f"{len(findings)} scripts"
        raise Invalid(f"{count} cannot be built.", code="invalid_definition", findings=findings)


def list_script_sources(definition: Definition) -> Iterator[tuple[str, str]]:
    """Every script of a definition, including nested and on_failure steps: pointer and source."""
    shown = definition.as_dict()
    yield from _iterate_sources(shown["plan"], "/plan")
    yield from _iterate_sources(shown["execution"].get("on_failure"), "/execution/on_failure")


def _iterate_sources(value: Any, at: str) -> Iterator[tuple[str, str]]:
    """A nested step is in the config of another; a script's own config contains none."""
    rest: list[tuple[str, Any]] = [(at, value)]
    while rest:
        pointer, value = rest.pop()
        if isinstance(value, list):
            rest += [(f"{pointer}/{place}", one) for place, one in enumerate(value)][::-1]
        elif isinstance(value, Mapping):
            source = _get_source(value)
            if source is not None:
                yield f"{pointer}/config/source", source
            else:
                rest += [(join_pointer(pointer, str(key)), one) for key, one in value.items()][::-1]


def _get_source(step: Mapping[str, Any]) -> str | None:
    config = step.get("config")
    source = config.get("source") if isinstance(config, Mapping) else None
    is_script = step.get("action") == _SCRIPT and "step_id" in step
    return source if is_script and isinstance(source, str) else None


def _as_written(finding: Finding, moved: list[tuple[str, str]]) -> Finding:
    """The pointer before the upgrade, because the author looks for the old key."""
    for now, was in moved:
        if finding.pointer == now or finding.pointer.startswith(now + "/"):
            return replace(finding, pointer=was + finding.pointer.removeprefix(now))
    return finding
