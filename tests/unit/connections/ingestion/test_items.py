"""What outsiders wrote becomes a page as far as it can be kept, and a problem otherwise."""

from __future__ import annotations

from dataclasses import replace

from mainspring.connections.ingestion.items import (
    IngestionOrigin,
    build_event_payload,
    shorten_ref,
    sort_items,
)
from mainspring.contracts.errors import UpstreamError
from mainspring.contracts.integration import Item, UnreadableItem
from mainspring.contracts.limits import Limits
from mainspring.workspace.pages.content import LONGEST_REF, LONGEST_TITLE

ORIGIN = IngestionOrigin(
    "post", "post", {"post.came": frozenset({"page_slug"}), "post.left": frozenset()}
)
MAIL = Item("post:1", "email", "Hello", "Text", {"from": "ada"}, "post.came", {"id": "1"})


def test_titles_and_texts_are_kept_as_far_as_they_can_be() -> None:
    odd = [
        replace(MAIL, source_ref="a", title=" \n "),
        replace(MAIL, source_ref="b", title="x" * 900),
        replace(MAIL, source_ref="c", title="a\x00b\ud800c", body="\x00"),
    ]
    pages = sort_items(odd, ORIGIN, Limits()).pages
    assert [one.title[:3] for one in pages] == ["Ema", "xxx", "a b"]
    assert len(pages[1].title) == LONGEST_TITLE
    assert pages[2].body == "\ufffd"


def test_one_source_has_one_slug_and_another_has_another() -> None:
    one, other = (
        sort_items([replace(MAIL, source_ref=ref)], ORIGIN, Limits()).pages[0].slug
        for ref in ("post:1", "post:2")
    )
    assert one != other
    assert one.startswith("hello-")
    assert other.startswith("hello-")


def test_what_cannot_be_kept_is_broken_and_the_last_of_one_source_counts() -> None:
    problem = UpstreamError("No.", code="malformed")
    found = sort_items(
        [
            replace(MAIL, body="first"),
            replace(MAIL, body="last"),
            UnreadableItem("post:2", problem),
            replace(MAIL, source_ref="post:2"),
            replace(MAIL, source_ref="post:3"),
            UnreadableItem("post:3", problem),
            replace(MAIL, source_ref=""),
            replace(MAIL, source_ref="r" * 900),
            replace(MAIL, source_ref="post:4", frontmatter={"deep": [[[[[[1]]]]]]}),
            replace(MAIL, source_ref="post:5", payload={"half": "\ud800"}),
            replace(MAIL, source_ref="post:6", type="", title=""),
        ],
        ORIGIN,
        Limits(),
    )
    assert [(one.source_ref, one.body) for one in found.pages] == [
        ("post:1", "last"),
        ("post:2", "Text"),
    ]
    broken = {one.source_ref for one in found.broken}
    assert {"post:3", "post:4", "post:5", shorten_ref(""), shorten_ref("r" * 900)} == broken
    assert all(0 < len(one) <= LONGEST_REF for one in broken)
    assert [one.source_ref for one in found.bare] == ["post:6"]


def test_a_name_that_cannot_be_kept_is_the_problem_of_one_alone() -> None:
    """The others of the portion would be lost with it, and with every poll after it."""
    bare = Item("", "", "", event="post.left", payload={"id": "1"})
    found = sort_items(
        [
            replace(MAIL, source_ref="post:1"),
            replace(MAIL, source_ref="post:\x002"),
            replace(MAIL, source_ref="post:\ud8003"),
            replace(bare, source_ref="post:\x004"),
            replace(bare, source_ref="b" * 900),
            bare,
            replace(MAIL, source_ref="post:5", news="\x00"),
            replace(bare, source_ref="post:6"),
            replace(MAIL, source_ref="post:7"),
        ],
        ORIGIN,
        Limits(),
    )
    assert [one.source_ref for one in found.pages] == ["post:1", "post:7"]
    assert [one.source_ref for one in found.bare] == ["post:6"]
    assert len(found.broken) == 6
    assert all(shorten_ref(one.source_ref) == one.source_ref for one in found.broken)


def test_an_event_names_the_page_where_it_has_a_place_for_it() -> None:
    assert build_event_payload(MAIL, "hello-1", ORIGIN) == {"id": "1", "page_slug": "hello-1"}
    assert build_event_payload(replace(MAIL, event="post.left"), "hello-1", ORIGIN) == {"id": "1"}
