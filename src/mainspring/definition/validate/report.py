"""What the validator hands back, and the sheet on which its passes write."""

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
    """Everything that is wrong with a document, and the definition when nothing is."""

    findings: tuple[Finding, ...]
    warnings: tuple[Finding, ...] = ()
    # What was changed to bring the document to today's format.
    notes: tuple[UpgradeNote, ...] = ()
    definition: Definition | None = None
    # What a run of it may call; a person sees this before agreeing.
    grants: tuple[Grant, ...] = ()
    # What the vocabulary declares about its capabilities and steps.
    traits: DefinitionTraits = field(default_factory=DefinitionTraits)

    @property
    def ok(self) -> bool:
        return not self.findings

    def accepted(self) -> Definition:
        """The definition, or an ``Invalid`` that carries every finding."""
        if self.definition is None:
            count = len(self.findings)
            things = "1 problem" if count == 1 else f"{count} problems"
            raise Invalid(
                f"The definition has {things}.", code="invalid_definition", findings=self.findings
            )
        return self.definition


class TooManyFindings(Exception):
    """More is wrong than anybody wants to read at once."""


@dataclass(slots=True)
class FindingCollector:
    """Where the passes write down what they find; one document, one sheet.

    It has room for so many findings and no more: looking for the right word beside each
    of a hundred thousand wrong ones would hold everybody up.
    """

    findings: list[Finding] = field(default_factory=list)
    warnings: list[Finding] = field(default_factory=list)
    # Pointers of the texts that were read as templates and can be filled.
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
