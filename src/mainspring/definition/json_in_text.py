"""Parses a JSON value that was written as text: bare, or as one fenced code block.

Some models answer in this way where a tool call was requested. The text must consist of the value
alone: a value inside a sentence may be an example or a quotation.
"""

from __future__ import annotations

import re
from typing import Any, Final

from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.strict_json import read_json

_FENCED: Final = re.compile(
    r"```[ \t]*(?:json|JSON)?[ \t]*\r?\n(?P<inside>.*)\n[ \t]*```", re.DOTALL
)


def parse_json_text(text: str, limits: Limits) -> tuple[Any, ...]:
    """The JSON value of a text; empty when the text contains anything else."""
    bare = text.strip()
    fenced = _FENCED.fullmatch(bare)
    try:
        return (read_json(bare if fenced is None else fenced["inside"], limits),)
    except Invalid:
        return ()
