"""Writing pages: bad input leaves nothing behind, and one name or source is one page."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest
import pytest_asyncio

from mainspring.contracts.display_text import name_findings
from mainspring.contracts.errors import Conflict, Invalid, NotFound, Problem
from mainspring.contracts.roles import Role
from mainspring.workspace.pages.content import RESERVED, PageDraft
from mainspring.workspace.pages.writer import PageWriter, ingest
from tests.kit.bench import Bench, document, step
from tests.kit.pages import PageClient, other_workspace

PAGE_NAMES = {"type": "note", "title": "A title"}
PAGE = {"type": "note", "title": "A title", "body": "A body."}


@pytest_asyncio.fixture
async def page_client(bench: Bench) -> PageClient:
    return PageClient(bench.application.gate, bench.application.workspace_id)


async def _refused(asked: Awaitable[Any]) -> Problem:
    with pytest.raises(Problem) as caught:
        await asked
    return caught.value


def _pointers(problem: Problem) -> set[str]:
    return {finding.pointer for finding in problem.findings}


async def _facts(bench: Bench) -> list[dict[str, Any]]:
    rows = await bench.application.database.fetch(
        "SELECT payload FROM events WHERE type = 'page.ingested' ORDER BY id"
    )
    return [row["payload"] for row in rows]


BAD: list[tuple[dict[str, Any], str]] = [
    ({**PAGE, "slug": "Has Capitals"}, "/slug"),
    ({**PAGE, "slug": "-dash-first"}, "/slug"),
    ({**PAGE, "slug": "ends-"}, "/slug"),
    ({**PAGE, "slug": "a/b"}, "/slug"),
    ({**PAGE, "slug": "ümlaut"}, "/slug"),
    ({**PAGE, "slug": "a\n"}, "/slug"),
    ({**PAGE, "slug": ""}, "/slug"),
    ({**PAGE, "slug": "a" * 201}, "/slug"),
    ({**PAGE, "type": "Two Words"}, "/type"),
    ({**PAGE, "type": "note\n"}, "/type"),
    ({**PAGE, "type": "t" * 65}, "/type"),
    ({**PAGE, "title": ""}, "/title"),
    ({**PAGE, "title": "   "}, "/title"),
    ({**PAGE, "title": "t" * 501}, "/title"),
    ({**PAGE, "body": 7}, "/body"),
    ({**PAGE, "body": "ü" * 500_001}, "/body"),
    ({**PAGE, "body": "nul \x00"}, "/body"),
    ({**PAGE, "body": "half \ud83d"}, "/body"),
    ({**PAGE, "title": "nul \x00"}, "/title"),
    ({**PAGE, "frontmatter": []}, "/frontmatter"),
    ({**PAGE, "frontmatter": {"": 1}}, "/frontmatter/"),
    ({**PAGE, "frontmatter": {"a\nb": 1}}, "/frontmatter/a\nb"),
    ({**PAGE, "frontmatter": {"deep": [[[[[1]]]]]}}, "/frontmatter/deep"),
    ({**PAGE, "frontmatter": {"long": "x" * 65_537}}, "/frontmatter"),
    ({**PAGE, "frontmatter": {f"n{number}": 1 for number in range(101)}}, "/frontmatter"),
    ({**PAGE, "provenance": {"a\x00": 1}}, "/provenance"),
    ({**PAGE, "source_ref": ""}, "/source_ref"),
    ({**PAGE, "source_ref": "r" * 501}, "/source_ref"),
    ({"markdown": "no title at all", "type": "note"}, "/title"),
    ({"markdown": "# A heading and no type"}, "/type"),
    ({"markdown": "---\ntitle: x\ntype: note\nslug: Not One\n---\n"}, "/slug"),
    ({"markdown": "---\nwhat is this\n---\n", "type": "note"}, "/markdown"),
    ({"markdown": "---\na: 1\na: 2\n---\n", "type": "note"}, "/markdown"),
    *(
        ({"markdown": f"---\n{line}\n---\n", **PAGE_NAMES}, "/markdown")
        for line in (
            r'a: "a\u0000b"',
            r'title: "a\u0000b"',
            r'a: {"\u0000": 1}',
            r'a: "\ud83d"',
            "a: 1e999",
            "a: [1e999, b]",
            'a: {"a": 1, "a": 2}',
            f"a: {'[' * 3_000}",
            "# long" * 40_000,
        )
    ),
]


async def test_bad_input_is_refused_at_its_place_and_nothing_is_kept(
    bench: Bench, page_client: PageClient
) -> None:
    for arguments, pointer in BAD:
        problem = await _refused(page_client("create_page", **arguments))
        assert isinstance(problem, Invalid), arguments
        assert pointer in _pointers(problem), (arguments, problem.findings)
    for wrong in ({**PAGE, "markdown": "x"}, {"type": "note", "title": "x"}, {**PAGE, "more": 1}):
        assert isinstance(await _refused(page_client("create_page", **wrong)), Invalid)

    assert (await page_client("list_pages"))["pages"] == []
    assert await _facts(bench) == []


async def test_a_type_of_integrations_is_refused_by_name(page_client: PageClient) -> None:
    for kind in sorted(RESERVED):
        for arguments in (
            {**PAGE, "type": kind},
            {"markdown": f"---\ntitle: x\ntype: {kind}\n---\n"},
        ):
            problem = await _refused(page_client("create_page", **arguments))
            assert problem.code == "reserved_page_type"
            assert _pointers(problem) == {"/type"}
            assert kind in problem.detail
    await page_client("create_page", **PAGE)
    problem = await _refused(page_client("update_page", slug="a-title", type="email"))

    assert problem.code == "reserved_page_type"
    assert (await page_client("get_page", slug="a-title"))["type"] == "note"


NAUGHTY = [
    "plain",
    "ümläüt ß ẞ İ ı",
    "日本語 中文 한국어",
    "👩‍👩‍👧‍👦 🇩🇪 ☠️",
    "\u200b\u200e\u202e right to left",
    "a\tb\r\nc\u2028d\u2029e\x85f",
    "\x01\x02\x1f\x7f",
    "' OR 1=1; DROP TABLE pages; --",
    "\"quotes\" 'and' `more` \\ back",
    "{{ secrets.x }} {% raw %} <script>alert(1)</script>",
    "%s %d %n $1 ${HOME} $(id)",
    "\ufeffbom \ufffd \ufffe",
    "Z̸̨͓a̷l̶g̸o̴",
    " leading and trailing ",
]


async def test_every_text_comes_back_to_the_byte(page_client: PageClient) -> None:
    for number, text in enumerate(NAUGHTY):
        values = {"text": text, "list": [text, 1, None, 1.5, True]}
        title = f"Number {number}" if name_findings(text) else text
        await page_client.write(
            title, text, slug=f"n{number}", frontmatter=values, provenance=values
        )
        page = await page_client("get_page", slug=f"n{number}")

        assert page["title"] == title
        assert page["body"] == text
        assert page["frontmatter"] == values
        assert values.items() <= page["provenance"].items()
        assert page["markdown"].endswith(text)
        # What was handed out as one text is the same page again.
        await page_client("create_page", slug=f"again{number}", markdown=page["markdown"])
        again = await page_client("get_page", slug=f"again{number}")
        assert (again["title"], again["body"]) == (title, text)
        assert values.items() <= again["frontmatter"].items()
        assert again["markdown"] == page["markdown"]
    assert len((await page_client("list_pages", limit=100))["pages"]) == 2 * len(NAUGHTY)


async def test_a_page_from_a_text_takes_its_names_from_the_front_matter(
    page_client: PageClient,
) -> None:
    text = "---\ntitle: Plan\ntype: note\nsource_ref: doc:7\ntags: [a, b]\n---\n\n# Body\n"
    made = await page_client("create_page", markdown=text)
    page = await page_client("get_page", id=made["id"])

    assert made["slug"] == "plan"
    assert page["markdown"] == text
    assert page["body"] == "# Body\n"
    assert page["source_ref"] == "doc:7"
    assert page["frontmatter"]["tags"] == ["a", "b"]
    assert page["provenance"]["source"] == "member"
    assert (await page_client("create_page", markdown="# Only a heading\n\nx", type="note"))[
        "slug"
    ] == "only-a-heading"


async def test_of_twenty_that_write_one_page_at_once_one_creates_it(
    bench: Bench, page_client: PageClient
) -> None:
    made = await asyncio.gather(
        *(page_client.write("Same", "Same body.", slug="same") for _ in range(20)),
        *(page_client.write(f"Other {n}", "x", source_ref="src:1") for n in range(20)),
    )
    became = [entry["became"] for entry in made]
    pages = (await page_client("list_pages"))["pages"]

    assert sorted(became[:20]) == ["created"] + ["unchanged"] * 19
    assert became[20:].count("created") == 1
    assert len({entry["id"] for entry in made[20:]}) == 1
    assert len(pages) == 2
    assert sum(fact["created"] for fact in await _facts(bench)) == 2


async def test_the_same_content_is_unchanged_for_a_day_and_then_comes_in_anew(
    bench: Bench, page_client: PageClient
) -> None:
    first = await page_client.write("Report", "v1", source_ref="r:1")
    same = await page_client.write("Report", "v1", source_ref="r:1")
    changed = await page_client.write("Report", "v2", source_ref="r:1")
    await bench.application.database.execute(
        "UPDATE pages SET ingested_at = ingested_at - interval '25 hours'"
    )
    later = await page_client.write("Report", "v2", source_ref="r:1")

    assert [entry["became"] for entry in (first, same, changed, later)] == [
        "created",
        "unchanged",
        "updated",
        "ingested_again",
    ]
    assert {entry["id"] for entry in (first, same, changed, later)} == {first["id"]}
    page = await page_client("get_page", slug="report")
    assert page["body"] == "v2"
    assert [entry["action"] for entry in page["timeline"]] == [
        "ingested_again",
        "updated",
        "created",
    ]
    facts = await _facts(bench)
    assert [fact["created"] for fact in facts] == [True, False, False]
    assert {fact["source_ref"] for fact in facts} == {"r:1"}


async def test_two_sources_with_one_title_are_two_pages(page_client: PageClient) -> None:
    first = await page_client.write("Minutes", "a", source_ref="m:1")
    second = await page_client.write("Minutes", "b", source_ref="m:2")
    again = await page_client.write("Minutes", "b", source_ref="m:2")
    named = await _refused(page_client.write("Minutes", "c", source_ref="m:3", slug="minutes"))
    elsewhere = await _refused(
        page_client.write("Minutes", "c", source_ref="m:2", slug="elsewhere")
    )

    assert first["slug"] == "minutes"
    assert second["slug"].startswith("minutes-")
    assert again == {**second, "became": "unchanged"}
    assert isinstance(named, Conflict)
    assert _pointers(named) == {"/slug"}
    assert isinstance(elsewhere, Conflict)
    assert _pointers(elsewhere) == {"/source_ref"}
    assert (await page_client("get_page", slug="minutes"))["body"] == "a"


async def test_titles_that_make_one_slug_are_pages_of_their_own(page_client: PageClient) -> None:
    titles = ("C++", "C#", "C", "c!")
    made = [await page_client.write(title, f"about {title}") for title in titles]
    again = [await page_client.write(title, f"about {title}") for title in titles]
    changed = await page_client.write("C#", "more")
    sourced = await page_client.write("C--", "elsewhere", source_ref="s:1")
    named = await page_client.write("Any title", "over", slug="c")

    assert [entry["slug"] for entry in made] == ["c", "c-2", "c-3", "c-4"]
    assert [entry["became"] for entry in made] == ["created"] * 4
    assert again == [{**entry, "became": "unchanged"} for entry in made]
    assert changed == {**made[1], "became": "updated"}
    assert sourced["became"] == "created"
    assert named == {**made[0], "became": "updated"}
    many = await asyncio.gather(*(page_client.write(f"D{'!' * n}", str(n)) for n in range(11)))
    assert {entry["became"] for entry in many} == {"created"}
    assert len({entry["slug"] for entry in many}) == 11
    for n, entry in enumerate(many):
        assert (await page_client("get_page", id=entry["id"]))["body"] == str(n)


async def test_an_update_changes_what_is_given_and_is_reported_in_the_timeline(
    bench: Bench, page_client: PageClient
) -> None:
    await page_client("create_page", markdown="---\ntitle: One\ntype: note\nk: 1\n---\nold")
    before = await page_client("get_page", slug="one")
    made = await page_client(
        "update_page", slug="one", body="new", content_hash=before["content_hash"]
    )
    page = await page_client("get_page", slug="one")
    stale = await _refused(
        page_client("update_page", slug="one", body="lost", content_hash=before["content_hash"])
    )
    for arguments in ({"title": " "}, {"type": "No"}, {"frontmatter": {"a\n": 1}}):
        assert isinstance(
            await _refused(page_client("update_page", slug="one", **arguments)), Invalid
        )
    unchanged = await page_client("update_page", slug="one", body="new")

    assert made["became"] == "updated"
    assert page["markdown"] == "---\ntitle: One\ntype: note\nk: 1\n---\nnew"
    assert page["timeline"][0]["detail"] == {"fields": ["body"]}
    assert isinstance(stale, Conflict)
    assert stale.code == "page_changed"
    assert unchanged["became"] == "unchanged"
    assert (await page_client("get_page", slug="one"))["content_hash"] == page["content_hash"]
    await page_client("update_page", slug="one", title="Two")
    renamed = await page_client("get_page", slug="one")
    assert renamed["title"] == "Two"
    assert len(await _facts(bench)) == 1


async def test_a_deleted_page_is_nowhere_and_comes_back_whole(page_client: PageClient) -> None:
    made = await page_client.write("Gone", "needle in here")
    assert (await page_client("delete_page", slug="gone"))["changed"] is True
    for capability, arguments in (
        ("get_page", {"slug": "gone"}),
        ("get_page", {"id": made["id"]}),
        ("update_page", {"slug": "gone", "body": "x"}),
        ("delete_page", {"slug": "gone"}),
    ):
        assert isinstance(await _refused(page_client(capability, **arguments)), NotFound)
    assert (await page_client("list_pages"))["pages"] == []
    assert await page_client.slugs("search", "needle") == []
    assert await page_client.slugs("query", "gone") == []

    assert (await page_client("restore_page", slug="gone"))["changed"] is True
    assert (await page_client("restore_page", slug="gone"))["changed"] is False
    assert await page_client.slugs("search", "needle") == ["gone"]
    result = await page_client("list_page_timeline", slug="gone")
    assert [entry["action"] for entry in result["entries"]] == ["restored", "deleted", "created"]
    older = await page_client(
        "list_page_timeline", slug="gone", before=result["entries"][0]["id"], limit=1
    )
    assert [entry["action"] for entry in older["entries"]] == ["deleted"]


async def test_writing_a_deleted_page_again_brings_it_back(page_client: PageClient) -> None:
    await page_client.write("Back", "same")
    await page_client("delete_page", slug="back")
    made = await page_client.write("Back", "same")

    assert made["became"] == "updated"
    assert (await page_client("get_page", slug="back"))["body"] == "same"


async def test_integrations_write_reserved_types_and_a_deletion_stays(
    bench: Bench, page_client: PageClient
) -> None:
    application = bench.application
    by = PageWriter(application.workspace_id, "client", application.workspace_id, "google_mail")
    mail = PageDraft("mail-1", "email", "Hello", "Hi there", {"from": "a@b.c"}, source_ref="mail:1")
    async with application.database.transaction() as tx:
        first = await ingest(tx, mail, by)
        second = await ingest(tx, mail, by)
    over = await _refused(page_client.write("x", "y", slug="mail-1"))
    changed = await _refused(page_client("update_page", slug="mail-1", body="forged"))
    await page_client("delete_page", slug="mail-1")
    async with application.database.transaction() as tx:
        third = await ingest(tx, mail, by)

    assert (first.became, second.became, third.became) == ("created", "unchanged", "unchanged")
    assert isinstance(over, Conflict)
    assert isinstance(changed, Conflict)
    assert isinstance(await _refused(page_client("get_page", slug="mail-1")), NotFound)
    [fact] = await _facts(bench)
    assert (fact["source"], fact["type"], fact["created"]) == ("google_mail", "email", True)


async def test_a_run_that_writes_a_page_is_named_in_its_record_and_its_event(
    bench: Bench, page_client: PageClient
) -> None:
    run = await bench.run(
        document(
            step("keep", "create_page", {"type": "derived", "title": "Sum", "body": "42"}),
            step("read", "get_page", {"slug": "{{ steps.keep.slug }}", "include": ["body"]}),
        )
    )
    page = await page_client("get_page", slug="sum")
    [row] = await bench.application.database.fetch(
        "SELECT payload, run_id FROM events WHERE type = 'page.ingested'"
    )

    assert run["status"] == "succeeded", run
    assert page["source"] == "automation"
    assert page["run_id"] == str(row["run_id"]) == str(run["id"])
    assert page["timeline"][0]["run_id"] == str(run["id"])
    assert row["payload"]["page_id"] == page["id"]
    assert row["payload"]["automation_id"] == page["provenance"]["automation_id"]


async def test_another_workspace_has_pages_of_its_own(
    bench: Bench, page_client: PageClient
) -> None:
    theirs = PageClient(bench.application.gate, await other_workspace(bench.application))
    ours = await page_client.write("Plan", "ours", slug="plan", source_ref="s:1")
    made = await theirs.write("Plan", "theirs", slug="plan", source_ref="s:1")

    assert made["became"] == "created"
    assert (await page_client("get_page", slug="plan"))["body"] == "ours"
    foreign = await _refused(theirs("get_page", id=ours["id"]))
    missing = await _refused(theirs("get_page", id=str(bench.application.workspace_id)))
    assert foreign.as_dict() == missing.as_dict()
    for verb in ("delete_page", "restore_page", "list_page_timeline"):
        assert isinstance(await _refused(theirs(verb, id=ours["id"])), NotFound)


async def test_a_viewer_reads_and_does_not_write(bench: Bench, page_client: PageClient) -> None:
    viewer = PageClient(bench.application.gate, bench.application.workspace_id, Role.VIEWER)
    await page_client.write("Seen", "by all")

    assert await viewer.slugs("search", "all") == ["seen"]
    for verb, arguments in (("create_page", PAGE), ("delete_page", {"slug": "seen"})):
        assert (await _refused(viewer(verb, **arguments))).code == "role_too_small"
