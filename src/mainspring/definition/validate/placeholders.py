"""Placeholders of secrets where no secret is ever put in.

A text that nobody fills would be sent out as it stands, and its author would look for the
mistake at the other end. So a placeholder outside the places made for it is refused, by name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from mainspring.definition.pointers import join_pointer
from mainspring.definition.validate.report import FindingCollector

PLACEHOLDER: Final = re.compile(r"\{\{[-+]?\s*secrets\s*\.\s*(\w{1,64})")
_WHERE: Final = "Secrets may stand in the URL, the headers and the query of an HTTP request."


def check_placeholders(document: Mapping[str, Any], sheet: FindingCollector) -> None:
    """Every text of the document that no pass has read as a template."""
    judged = sheet.templates | {finding.pointer for finding in sheet.findings}
    rest: list[tuple[str, Any]] = [("", document)]
    while rest:
        pointer, value = rest.pop()
        if isinstance(value, str):
            found = PLACEHOLDER.search(value)
            if found is not None and pointer not in judged:
                _refuse(pointer, found[1], sheet)
        elif isinstance(value, Mapping):
            for key, entry in value.items():
                found = PLACEHOLDER.search(str(key))
                if found is not None:
                    _refuse(join_pointer(pointer, key), found[1], sheet)
                rest.append((join_pointer(pointer, key), entry))
        elif isinstance(value, list | tuple):
            rest += [(f"{pointer}/{place}", entry) for place, entry in enumerate(value)]


def _refuse(pointer: str, name: str, sheet: FindingCollector) -> None:
    detail = f"The secret {name!r} would not be put in here."
    sheet.wrong(pointer, detail, "template_secret", _WHERE)
