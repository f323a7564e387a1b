"""The secret values that a run has used so far, and what they look like when hidden.

An upstream may hand a secret back much later: in the answer to another call, in an error,
in what a step makes of it. So the values stay known for as long as the run is worked on,
and all that is kept of the run is masked with them. They are never written anywhere; who
takes a run over learns them again from the vault, by the names that its definition uses.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from mainspring.contracts.errors import Problem
from mainspring.definition.secret_use import find_script_secrets
from mainspring.definition.strict_json import encode_canonical
from mainspring.workspace.redaction import Redactor

# A template may have white space around the dot, which JSON writes in its own way.
_GAP: Final = rb"(?:\s|\\[nrt])*"
_NAMED: Final = re.compile(rb"\bsecrets" + _GAP + rb"\." + _GAP + rb"([A-Za-z0-9_]{1,64})")

# Most calls know no secret at all.
_HIDES_NOTHING: Final = Redactor({})


class RunSecretMasker:
    """What one run must not show."""

    __slots__ = ("_redactor", "_values")

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self._values = dict(values or {})
        self._redactor = Redactor(self._values) if values else _HIDES_NOTHING

    def learn(self, values: Mapping[str, str]) -> None:
        """Remembers values that were revealed for the run just now."""
        if values.items() <= self._values.items():
            return
        for name, value in values.items():
            before = self._values.get(name, value)
            if before != value:
                # One that was replaced in mid-run is still one that was used.
                self._values[f"{name} as it was"] = before
            self._values[name] = value
        self._redactor = Redactor(self._values)

    def masked(self, value: Any) -> Any:
        """A JSON value in which none of them can be read."""
        return self._redactor.tree(value) if self._values else value

    def hide_in(self, problem: Problem) -> Problem:
        """The same problem with none of them in its sentences."""
        if self._values:
            text = self._redactor.text
            problem.detail = text(problem.detail)
            problem.suggestion = problem.suggestion and text(problem.suggestion)
            problem.findings = tuple(
                replace(
                    finding,
                    pointer=text(finding.pointer),
                    detail=text(finding.detail),
                    suggestion=finding.suggestion and text(finding.suggestion),
                )
                for finding in problem.findings
            )
            problem.args = (problem.detail,)
        return problem


def secrets_named_in(document: Mapping[str, Any]) -> frozenset[str]:
    """Every secret that a definition may use: rather too many than too few.

    A template says ``secrets.`` before the name, and a script may leave that out.
    """
    named = frozenset(name.decode() for name in _NAMED.findall(encode_canonical(document)))
    return named | find_script_secrets(document)
