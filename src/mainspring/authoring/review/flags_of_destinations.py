"""Flags about destinations that are written so that a reader may take them for others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from mainspring.authoring.places import mapping
from mainspring.authoring.review.grants import MOST_TOOLS
from mainspring.authoring.review.pieces import oddness
from mainspring.authoring.review.reading import StepView, listing
from mainspring.authoring.review.values import PLACES, code
from mainspring.authoring.review.view import ReviewView
from mainspring.authoring.shapes import ReviewFlag
from mainspring.definition.hosts import parse_template_host
from mainspring.definition.pointers import join_pointer
from mainspring.definition.templates.tokens import has_syntax
from mainspring.definition.tool_patterns import read_fixed_params

_SHOWN: Final = 200
# Arguments of another system's own, which stand one level below.
_HANDED_ON: Final = frozenset({"input", "params", "arguments"})


def flags_of_destinations(view: ReviewView) -> Iterator[ReviewFlag]:
    for step in view.steps:
        for pointer, text in _destination_texts(step):
            odd = oddness(text) if has_syntax(text) else None
            if odd is None or (parse_template_host(text) is not None and odd[0] != "a comment"):
                # Behind the host of an address, data is what the call is about.
                continue
            yield ReviewFlag(
                pointer,
                "odd_destination",
                f"Where this goes is written with {odd[0]}: {code(text, _SHOWN)}.",
                "warning" if odd[1] else "note",
                suggestion="Write the destination as plain text, or as one value of the run.",
            )


def _destination_texts(step: StepView) -> Iterator[tuple[str, str]]:
    """Every text that says where something goes, those that tools are bound to among them."""
    at = join_pointer(step.pointer, "config")
    yield from _named_destinations(step.config, at)
    if step.is_agent:
        for place, entry in enumerate(listing(step.config.get("tools"))[:MOST_TOOLS]):
            yield from _named_destinations(
                read_fixed_params(entry), join_pointer(at, "tools", place, "params")
            )


def _named_destinations(
    config: Mapping[str, Any], at: str, below: bool = True
) -> Iterator[tuple[str, str]]:
    for key, value in config.items():
        here = join_pointer(at, str(key))
        if str(key) in PLACES:
            yield from _texts(value, here)
        elif below and str(key) in _HANDED_ON:
            yield from _named_destinations(mapping(value), here, below=False)


def _texts(value: Any, at: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield at, value
    for place, one in enumerate(listing(value)):
        if isinstance(one, str):
            yield join_pointer(at, place), one
