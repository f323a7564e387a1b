"""Definitions judged without a house: it is known what everybody has, and nothing else.

A name like ``alias.tool`` may be a tool that some workspace is connected to. Whether it is, and
what it takes, only a house can say. So the rest of the definition is judged as if it were, and
each place that calls it gets a doubt that says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.capability import Annotations, Capability, Effect
from mainspring.contracts.errors import Finding, InternalError
from mainspring.contracts.registry import Registry, Vocabulary

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext
    from mainspring.contracts.limits import Limits
    from mainspring.definition.validate import ValidationReport

UNCHECKED: Final = "tool_unchecked"
_TOOL: Final = re.compile(r"([a-z][a-z0-9_]{0,31})\.[A-Za-z0-9_.-]{1,64}")
# Several at once, as a finding quotes them.
_PATTERN: Final = re.compile(r"'(([a-z][a-z0-9_]{0,31})\.[A-Za-z0-9_.-]{0,64}\*[^']{0,64})'")
_WAY: Final = "The server judges it when it is saved; POST /api/v1/validate judges it before."


@dataclass(frozen=True, slots=True)
class OfflineReport:
    """A verdict, and the names that only a house can judge."""

    report: ValidationReport
    tools: tuple[str, ...] = ()


class OfflineVocabulary:
    """What everybody can say, and which names of tools were asked for beyond that."""

    def __init__(self, natives: Vocabulary) -> None:
        self.actions = natives.actions
        self.triggers = natives.triggers
        self.events = natives.events
        # Nobody can connect to anything under a word that our own names begin with.
        self._ours = {name.partition(".")[0] for name in (*natives.capabilities, *natives.actions)}
        self._heard: set[str] = set()
        known = natives.capabilities
        self.capabilities: Mapping[str, Capability] = _RecordingCapabilities(
            known, self._ours, self._heard
        )

    def tools(self, findings: Iterable[Finding]) -> tuple[str, ...]:
        """Names that may be tools, and patterns that may stand for some."""
        patterns = {
            pattern
            for finding in findings
            for pattern, alias in _PATTERN.findall(finding.detail)
            if alias not in self._ours
        }
        return tuple(sorted(self._heard | patterns))


class _RecordingCapabilities(Mapping[str, Capability]):
    """Capabilities by name; what is not there and may be a tool is remembered."""

    def __init__(self, known: Mapping[str, Capability], ours: set[str], heard: set[str]) -> None:
        self._known = known
        self._ours = ours
        self._heard = heard

    def __getitem__(self, name: str) -> Capability:
        found = self._known.get(name)
        if found is None:
            tool = _TOOL.fullmatch(name)
            if tool is not None and tool[1] not in self._ours:
                self._heard.add(name)
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


def validate_offline(document: Any, natives: Vocabulary, limits: Limits) -> OfflineReport:
    """The verdict on a definition, with a doubt wherever it calls what may be a tool."""
    from mainspring.definition.validate import validate

    vocabulary = OfflineVocabulary(natives)
    report = validate(document, vocabulary, limits)
    tools = vocabulary.tools(report.findings)
    if report.ok or not tools:
        return OfflineReport(report)
    # For a pattern stands one that it fits.
    stand_ins = {tool.replace("*", "any"): tool for tool in tools}
    opened = Registry(
        actions=natives.actions.values(),
        capabilities=(
            *natives.capabilities.values(),
            *map(_build_placeholder_capability, stand_ins),
        ),
        triggers=natives.triggers.values(),
        events=natives.events.values(),
    )
    again = validate(document, opened, limits)
    doubts = _doubts(report.findings, again.findings, tools)
    grants = tuple(one for one in again.grants if stand_ins.get(one.capability, "").count("*") == 0)
    return OfflineReport(replace(again, warnings=(*again.warnings, *doubts), grants=grants), tools)


def _doubts(
    before: Iterable[Finding], after: Iterable[Finding], tools: Iterable[str]
) -> Iterator[Finding]:
    """What was wrong with the names alone, each at its place; every name is told."""
    left = set(after)
    places: dict[tuple[str, str], None] = {}
    for finding in before:
        named = [tool for tool in tools if tool in finding.detail]
        if named and finding not in left:
            places[max(named, key=len), finding.pointer] = None
    told = {tool for tool, _ in places}
    for tool, pointer in (*places, *((tool, "") for tool in tools if tool not in told)):
        detail = f"Whether {tool} is there and takes this can only be judged by the server."
        yield Finding(pointer, detail, UNCHECKED, _WAY)


def _build_placeholder_capability(name: str) -> Capability:
    return Capability(
        id=name,
        description="A tool of a connection",
        input_schema={"type": "object"},
        output_schema={},
        handler=_never,
        annotations=Annotations(effect=Effect.SEND),
    )


async def _never(ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
    raise InternalError("Tools cannot be called during offline validation.")
