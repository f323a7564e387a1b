"""From one item of an answer to the page that it becomes, or to the problem that it is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from mainspring.connections.ingestion.declared_responses import EndpointResponse
from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.integration import Item, UnreadableItem
from mainspring.workspace.pages.content import GENERATED_REF_PREFIX, RESERVED
from mainspring.workspace.pages.front_matter import is_name

# Templates of a mapping: ``{{dotted.path}}`` against one item, and nothing else.

LONGEST: Final = 10_000
_MOST_PLACES: Final = 200
_PART: Final = re.compile(r"[^\W][\w@$#-]*|[@$#_-][\w@$#-]*")
_FORMAT: Final = re.compile(r"\{[A-Za-z_][\w.]*:[^{}]*\}")
_RUN: Final = re.compile(r"run_iso\w*|run\.(?:id|iso\w*|at|now|started_at|time)|now(?:\(\))?")
_NOWHERE: Final = object()


@dataclass(frozen=True, slots=True)
class ItemPath:
    """A place of an item, by names; a number is a position in a list."""

    parts: tuple[str, ...]

    def __str__(self) -> str:
        return ".".join(self.parts)


@dataclass(frozen=True, slots=True)
class ItemTemplate:
    """Text and places, in order."""

    pieces: tuple[str | ItemPath, ...]

    def render(self, item: Any, spelt: Mapping[int, str]) -> str:
        """The text for one item; a place that is not there is empty."""
        return "".join(
            one if isinstance(one, str) else format_value(value_at_path(item, one), spelt)
            for one in self.pieces
        )

    def lacks(self, item: Any) -> ItemPath | None:
        """The first place that says nothing by which the item could be known."""
        for one in self.pieces:
            if isinstance(one, ItemPath):
                value = value_at_path(item, one)
                empty = value is _NOWHERE or value is None or value == ""
                if empty or isinstance(value, dict | list):
                    return one
        return None


def value_at_path(item: Any, path: ItemPath) -> Any:
    """The value at a place; a value of its own where there is none."""
    value = item
    for part in path.parts:
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isascii() and part.isdigit() and len(part) < 7:
            if int(part) >= len(value):
                return _NOWHERE
            value = value[int(part)]
        else:
            return _NOWHERE
    return value


def format_value(value: Any, spelt: Mapping[int, str]) -> str:
    """A value as text: numbers as they were written, everything else as JSON spells it."""
    if value is _NOWHERE:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return spelt.get(id(value)) or repr(value)
    if isinstance(value, dict):
        inside = (
            f"{json.dumps(k, ensure_ascii=False)}:{_inner(v, spelt)}" for k, v in value.items()
        )
        return "{" + ",".join(inside) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_inner(one, spelt) for one in value) + "]"
    return json.dumps(value)


def _inner(value: Any, spelt: Mapping[int, str]) -> str:
    return (
        json.dumps(value, ensure_ascii=False)
        if isinstance(value, str)
        else format_value(value, spelt)
    )


def parse_item_template(text: str, at: str) -> tuple[ItemTemplate, list[Finding]]:
    """A template, and everything that is wrong with it."""
    # One that is too long is not read any further, so that it costs nobody anything.
    findings = list(_too_long(text, at))
    if findings:
        return ItemTemplate(()), findings
    split = split_placeholders(text)
    findings += _wrong_text("".join(one for one, place in split if not place), at)
    pieces: list[str | ItemPath] = []
    for one, place in split:
        problem = _check_placeholder(one.strip(), at) if place else None
        if problem is not None:
            findings.append(problem)
        else:
            pieces.append(ItemPath(tuple(one.strip().split("."))) if place else one)
    return ItemTemplate(tuple(pieces)), findings


def split_placeholders(text: str) -> list[tuple[str, bool]]:
    """Text and what stands between two braces each, in order; which of the two it is.

    Every character is looked at once, whatever braces there are.
    """
    found: list[tuple[str, bool]] = []
    done = 0
    while (begin := text.find("{{", done)) >= 0 and (end := text.find("}}", begin + 2)) >= 0:
        found += [(text[done:begin], False)] if begin > done else []
        found.append((text[begin + 2 : end], True))
        done = end + 2
    return [*found, (text[done:], False)] if done < len(text) else found


def _too_long(text: str, at: str) -> Iterator[Finding]:
    if len(text) > LONGEST:
        yield Finding(at, f"A template has at most {LONGEST:,} characters.", "template_long")
    elif text.count("{{") > _MOST_PLACES:
        yield Finding(at, f"A template has at most {_MOST_PLACES} places.", "template_long")


def _wrong_text(bare: str, at: str) -> Iterator[Finding]:
    """What is wrong with the text around the places."""
    if "{{" in bare or "}}" in bare:
        detail = "Two braces begin a place and two end it; here one side is missing."
        yield Finding(at, detail, "template_braces", "Write it like {{symbol}}.")
    elif "{%" in bare or "{#" in bare:
        detail = "A mapping has places such as {{symbol}}, and no conditions, loops or comments."
        yield Finding(at, detail, "template_statement")
    elif _FORMAT.search(bare):
        yield _format_spec(_FORMAT.findall(bare)[0], at)


def _check_placeholder(inside: str, at: str) -> Finding | None:
    if not inside:
        return Finding(at, "There is no name between the braces.", "template_empty")
    if inside.startswith(("publisher.", "secrets.")):
        detail = "A secret never goes into a page."
        way = "Use secrets only in the headers and the query of an endpoint."
        return Finding(at, detail, "secret_in_mapping", way)
    if _RUN.fullmatch(inside):
        detail = f"There is no {{{{{inside}}}}}: a mapping can use the item, not the run."
        way = "Use what the answer says itself, such as {{id}}@{{last_updated}}."
        return Finding(at, detail, "run_variable", way)
    if ":" in inside:
        return _format_spec(f"{{{{{inside}}}}}", at)
    if "|" in inside or "(" in inside:
        detail = "A mapping has no filters and no functions; values come out as they are."
        return Finding(at, detail, "template_filter", "Change the value where it is shown.")
    if not all(_PART.fullmatch(part) or part.isdigit() for part in inside.split(".")):
        detail = f"{inside[:80]!r} is no path of names and dots."
        return Finding(at, detail, "template_path", "Write it like {{quote.USD.price}}.")
    return None


def _format_spec(written: str, at: str) -> Finding:
    detail = f"{written[:80]} has a format, and there are none: values keep every digit."
    return Finding(at, detail, "format_spec", "Format it where it is shown, not where it is read.")


_TEXTS: Final = ("source_ref", "title", "body")


@dataclass(frozen=True, slots=True)
class PageMapping:
    """How an item becomes a page."""

    page_type: str
    prefix: str
    source_ref: ItemTemplate
    title: ItemTemplate
    body: ItemTemplate
    frontmatter: Mapping[str, ItemTemplate]

    def page(self, item: Any, answer: EndpointResponse, place: str) -> Item | UnreadableItem:
        """The page of one item; without something to know it by it is a problem."""
        lacking = self.source_ref.lacks(item)
        if lacking is not None:
            detail = f"The item says nothing at {lacking}, by which it would be known."
            finding = Finding("/source_ref", detail, "source_ref_missing")
            problem = Invalid(detail, code="source_ref_missing", findings=[finding])
            return UnreadableItem(self.place_ref(place), problem)
        return Item(
            source_ref=self.prefix + self.source_ref.render(item, answer.spelt),
            type=self.page_type,
            title=self.title.render(item, answer.spelt),
            body=self.body.render(item, answer.spelt),
            frontmatter={
                name: one.render(item, answer.spelt) for name, one in self.frontmatter.items()
            },
        )

    def place_ref(self, place: str) -> str:
        """How an item is told of that has no name of its own: by where it stood."""
        return f"{self.prefix}[{place}]"


def read_mapping(arguments: Mapping[str, Any]) -> PageMapping:
    """A mapping that was judged before."""
    texts = {name: parse_item_template(arguments.get(name, ""), "")[0] for name in _TEXTS}
    return PageMapping(
        arguments["page_type"],
        arguments["source_ref_prefix"],
        texts["source_ref"],
        texts["title"],
        texts["body"],
        {
            name: parse_item_template(text, "")[0]
            for name, text in arguments.get("frontmatter", {}).items()
        },
    )


def check_mapping(arguments: Mapping[str, Any], at: str) -> Iterator[Finding]:
    """What is wrong with a mapping that has the right shape."""
    for name in _TEXTS:
        if name in arguments:
            yield from parse_item_template(arguments[name], f"{at}/{name}")[1]
    for name, text in arguments.get("frontmatter", {}).items():
        place = f"{at}/frontmatter/{name.replace('~', '~0').replace('/', '~1')}"
        if not is_name(name):
            detail = "This name is reserved in front matter."
            yield Finding(place, detail, "frontmatter_name", "Write it like price_usd.")
        yield from parse_item_template(text, place)[1]
    if not any(not isinstance(one, str) for one in _find_placeholders(arguments["source_ref"])):
        detail = "This source_ref is the same for every item, so only one page could be kept."
        way = "Name what tells the items apart, such as {{id}}@{{updated_at}}."
        yield Finding(f"{at}/source_ref", detail, "source_ref_fixed", way)
    if "{{" in arguments["source_ref_prefix"]:
        detail = "The prefix is plain text; put what differs between items in source_ref."
        yield Finding(f"{at}/source_ref_prefix", detail, "prefix_template")
    if arguments["source_ref_prefix"].startswith(GENERATED_REF_PREFIX):
        detail = (
            f"A source_ref that starts with {GENERATED_REF_PREFIX} is reserved for generated pages."
        )
        yield Finding(f"{at}/source_ref_prefix", detail, "reserved_page_name")
    if arguments["page_type"] in RESERVED:
        detail = (
            f"Pages of the type {arguments['page_type']} are brought in by their integration alone."
        )
        way = "Choose a type of your own, such as crypto_coin_snapshot."
        yield Finding(f"{at}/page_type", detail, "reserved_page_type", way)


def _find_placeholders(text: str) -> tuple[Any, ...]:
    template, findings = parse_item_template(text, "")
    return (None,) if findings else template.pieces
