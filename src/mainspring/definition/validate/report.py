"""What the validator hands back, and the sheet on which its passes write."""

from __future__ import annotations

from dataclasses import dataclass, field

from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.grant import Grant
from mainspring.definition.model import Definition
from mainspring.definition.upgrade import Note


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that is wrong with a document, and the definition when nothing is."""

    findings: tuple[Finding, ...]
    warnings: tuple[Finding, ...] = ()
    # What was changed to bring the document to today's format.
    notes: tuple[Note, ...] = ()
    definition: Definition | None = None
    # What a run of it may call; a person sees this before agreeing.
    grants: tuple[Grant, ...] = ()

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


@dataclass(slots=True)
class Sheet:
    """Where the passes write down what they find; one document, one sheet."""

    findings: list[Finding] = field(default_factory=list)
    warnings: list[Finding] = field(default_factory=list)

    def wrong(self, pointer: str, detail: str, code: str, suggestion: str | None = None) -> None:
        self.findings.append(Finding(pointer, detail, code, suggestion))

    def doubtful(self, pointer: str, detail: str, code: str, suggestion: str | None = None) -> None:
        self.warnings.append(Finding(pointer, detail, code, suggestion))
