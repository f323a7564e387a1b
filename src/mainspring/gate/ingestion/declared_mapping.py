"""From one item of an answer to the page that it becomes, or to the problem that it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.integration import Item, UnreadableItem
from mainspring.gate.ingestion.declared_answers import EndpointResponse
from mainspring.gate.ingestion.declared_templates import ItemTemplate, parse_item_template
from mainspring.workspace.pages.content import HOUSE_REF, RESERVED
from mainspring.workspace.pages.front_matter import is_name

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


def read_mapping(given: Mapping[str, Any]) -> PageMapping:
    """A mapping that was judged before."""
    texts = {name: parse_item_template(given.get(name, ""), "")[0] for name in _TEXTS}
    return PageMapping(
        given["page_type"],
        given["source_ref_prefix"],
        texts["source_ref"],
        texts["title"],
        texts["body"],
        {
            name: parse_item_template(text, "")[0]
            for name, text in given.get("frontmatter", {}).items()
        },
    )


def check_mapping(given: Mapping[str, Any], at: str) -> Iterator[Finding]:
    """What is wrong with a mapping that has the right shape."""
    for name in _TEXTS:
        if name in given:
            yield from parse_item_template(given[name], f"{at}/{name}")[1]
    for name, text in given.get("frontmatter", {}).items():
        place = f"{at}/frontmatter/{name.replace('~', '~0').replace('/', '~1')}"
        if not is_name(name):
            detail = "No value can stand under this name in front matter."
            yield Finding(place, detail, "frontmatter_name", "Write it like price_usd.")
        yield from parse_item_template(text, place)[1]
    if not any(not isinstance(one, str) for one in _find_placeholders(given["source_ref"])):
        detail = "This source_ref is the same for every item, so only one page could be kept."
        way = "Name what tells the items apart, such as {{id}}@{{updated_at}}."
        yield Finding(f"{at}/source_ref", detail, "source_ref_fixed", way)
    if "{{" in given["source_ref_prefix"]:
        detail = "The prefix is plain text; what differs from item to item belongs to source_ref."
        yield Finding(f"{at}/source_ref_prefix", detail, "prefix_template")
    if given["source_ref_prefix"].startswith(HOUSE_REF):
        detail = f"A source_ref that begins with {HOUSE_REF} is that of a page of the house itself."
        yield Finding(f"{at}/source_ref_prefix", detail, "reserved_page_name")
    if given["page_type"] in RESERVED:
        detail = (
            f"Pages of the type {given['page_type']} are brought in by their integration alone."
        )
        way = "Choose a type of your own, such as crypto_coin_snapshot."
        yield Finding(f"{at}/page_type", detail, "reserved_page_type", way)


def _find_placeholders(text: str) -> tuple[Any, ...]:
    template, findings = parse_item_template(text, "")
    return (None,) if findings else template.pieces
