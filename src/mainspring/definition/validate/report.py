"""The validation report, and the collector of findings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.grant import Grant
from mainspring.definition.model import Definition
from mainspring.definition.traits import DefinitionTraits
from mainspring.definition.upgrade import UpgradeNote

MOST_FINDINGS: Final = 100


@dataclass(frozen=True, slots=True)
class ValidationReport:
    """The findings for a document, and the definition when there are no errors."""

    findings: tuple[Finding, ...]
    warnings: tuple[Finding, ...] = ()
    # The changes made to upgrade the document to the current format.
    notes: tuple[UpgradeNote, ...] = ()
    definition: Definition | None = None
    # What its runs may call; shown to a person before they agree.
    grants: tuple[Grant, ...] = ()
    # What the vocabulary declares about its capabilities and steps.
    traits: DefinitionTraits = field(default_factory=DefinitionTraits)

    @property
    def ok(self) -> bool:
        return not self.findings

    def accepted(self) -> Definition:
        """The definition; raises ``Invalid`` with every finding otherwise."""
        if self.definition is None:
            count = len(self.findings)
            things = "1 problem" if count == 1 else f"{count} problems"
            raise Invalid(
                f"The definition has {things}.", code="invalid_definition", findings=self.findings
            )
        return self.definition


class TooManyFindings(Exception):
    """The limit on the number of findings is reached."""


@dataclass(slots=True)
class FindingCollector:
    """Collects the findings of all passes over one document.

    The number of findings is limited: searching a suggestion for each of a hundred thousand unknown
    names would block the process.
    """

    findings: list[Finding] = field(default_factory=list)
    warnings: list[Finding] = field(default_factory=list)
    # Pointers of the texts that were parsed as templates and can be rendered.
    templates: set[str] = field(default_factory=set)

    def wrong(self, pointer: str, detail: str, code: str, suggestion: str | None = None) -> None:
        self.add([Finding(pointer, detail, code, suggestion)])

    def doubtful(self, pointer: str, detail: str, code: str, suggestion: str | None = None) -> None:
        self.doubt(Finding(pointer, detail, code, suggestion))

    def add(self, findings: Iterable[Finding]) -> None:
        for finding in findings:
            if len(self.findings) >= MOST_FINDINGS:
                raise TooManyFindings
            self.findings.append(finding)

    def doubt(self, finding: Finding) -> None:
        if len(self.warnings) < MOST_FINDINGS:
            self.warnings.append(finding)
