"""Finding pages: by words, by titles with typos, by meaning, and never in another workspace."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import asyncpg
import pytest
import pytest_asyncio

from mainspring.app import Application, run_background_loops
from mainspring.contracts.errors import Invalid, NotFound, Problem
from mainspring.contracts.ids import generate_id
from mainspring.store.database import WorkspaceDatabase
from mainspring.workspace.pages.content import PageDraft
from mainspring.workspace.pages.embedding_job import PageEmbeddingJob
from mainspring.workspace.pages.writer import PageWriter, ingest
from tests.kit.bench import Bench
from tests.kit.pages import BagOfWords, PageClient, other_workspace, with_model

SHELVED = [
    ("Annual budget 2026", "The board approved the budget for travel and training.", "note"),
    ("Travel rules", "Whoever travels keeps receipts. The budget for hotels is small.", "note"),
    ("Quarterly report", "Sales grew. Running costs fell.", "derived"),
    ("Kaffeemaschine", "Die Maschine im Büro wird montags entkalkt.", "note"),
    ("Office hours", "We open at nine.", "note"),
]


@pytest_asyncio.fixture
async def page_client(bench: Bench) -> PageClient:
    made = PageClient(bench.application.gate, bench.application.workspace_id)
    for title, body, kind in SHELVED:
        await made.write(title, body, type=kind)
    return made


async def _refused(asked: Awaitable[Any]) -> Problem:
    with pytest.raises(Problem) as caught:
        await asked
    return caught.value


async def test_search_finds_words_stems_beginnings_and_phrases(page_client: PageClient) -> None:
    asked = {
        "budget": ["annual-budget-2026", "travel-rules"],
        "BUDGET travel": ["annual-budget-2026", "travel-rules"],
        "run cost": ["quarterly-report"],
        "büro": ["kaffeemaschine"],
        "Kaffeemasch": ["kaffeemaschine"],
        '"budget for hotels"': ["travel-rules"],
        "budget -hotels": ["annual-budget-2026"],
        "sales or nine": ["quarterly-report", "office-hours"],
        "budget nowhere": [],
        "nowhere": [],
    }
    for question, slugs in asked.items():
        assert sorted(await page_client.slugs("search", question)) == sorted(slugs), question
    # A word in the title weighs more than one in the body.
    assert (await page_client.slugs("search", "budget"))[0] == "annual-budget-2026"


async def test_a_hit_says_what_it_is_and_shows_where_the_words_are(
    page_client: PageClient,
) -> None:
    found = await page_client("search", q="receipts", limit=1)
    [page] = found["pages"]

    assert found["used"] == ["text"]
    assert {"id", "title", "slug", "type", "score", "snippet"} <= page.keys()
    assert page["title"] == "Travel rules"
    assert [page["snippet"][start:end] for start, end in page["highlights"]] == ["receipts"]


async def test_type_and_limit_bound_both_ways_of_asking(page_client: PageClient) -> None:
    for capability in ("search", "query"):
        assert await page_client.slugs(capability, "report", type="note") == []
        assert await page_client.slugs(capability, "report", type="derived") == ["quarterly-report"]
        assert len(await page_client.slugs(capability, "budget", limit=1)) == 1


async def test_the_question_has_one_name_and_unknown_arguments_are_refused(
    page_client: PageClient,
) -> None:
    for capability in ("search", "query"):
        for name in ("q", "query", "text"):
            assert (await page_client(capability, **{name: "receipts"}))["pages"][0]["title"]
        for wrong, pointer in (
            ({}, ""),
            ({"q": "a", "query": "b"}, "/query"),
            ({"q": "a", "text": "b"}, "/text"),
            ({"query": "a", "text": "b"}, "/text"),
            ({"q": ""}, "/q"),
            ({"q": "x" * 10_000}, "/q"),
            ({"q": "a", "limit": 0}, "/limit"),
            ({"q": "a", "limit": 101}, "/limit"),
            ({"q": "a", "type": "No Type"}, "/type"),
            ({"q": "a", "kind": "note"}, "/kind"),
            ({"q": "a\x00"}, "/q"),
        ):
            problem = await _refused(page_client(capability, **wrong))
            assert isinstance(problem, Invalid), wrong
            assert pointer in {finding.pointer for finding in problem.findings}, problem.findings
        twice = await _refused(page_client(capability, q="a", query="b"))
        assert isinstance(twice, Invalid)
        assert [finding.detail for finding in twice.findings] == [
            "Give only one of q, query or text."
        ]


HOSTILE = [
    "'",
    '"',
    "''''",
    '"""',
    "\\",
    "\\'",
    "&",
    "|",
    "!",
    "<->",
    "a & | b",
    "!(",
    ")(",
    ":*",
    "a:*b",
    "'a':*",
    "a <-> <-> b",
    "-",
    "--",
    "-a",
    "- -",
    "OR",
    "or or or",
    "a or",
    "NOT",
    "*",
    "%",
    "_%",
    "the",
    "and or not",
    "$1",
    "'; DROP TABLE pages; --",
    "\u202e",
    "😀",
    "日本",
    "a" * 2_000,
    "a b " * 500,
    '"' * 2_000,
    "-" * 2_000,
    "(" * 2_000,
    "é'é\"é",
    "a\nb\tc",
    "http://x.y/z?a=1&b=2",
    "foo_bar",
    "foo-bar-baz",
    "x'y",
    "&amp;",
    "<b>",
    "a" * 300 + "'",
    "½ ² №",
    "İ",
    "ß'",
    "\ufeff",
]


async def test_no_question_breaks_the_search(page_client: PageClient) -> None:
    dice = random.Random(7)
    soups = ["".join(dice.choices("-\"' ao|&!<>\\:*(r", k=dice.randrange(400))) for _ in range(60)]
    heaps = ["-(" * 500 + "a", '-"' * 500, '-""' * 300 + "a", "-a " * 400, "-'" * 500 + "b"]
    for question in [*HOSTILE, *heaps, *filter(None, soups)]:
        for capability in ("search", "query"):
            found = await page_client(capability, q=question)
            assert isinstance(found["pages"], list), question
    assert len(await page_client.slugs("search", "budget")) == 2


async def test_a_page_of_more_words_than_the_index_holds_is_kept_and_found(
    page_client: PageClient,
) -> None:
    dice = random.Random(7)
    mails = [chr(0x10400 + number) for number in range(40)]
    words = [f"a{''.join(dice.choices(mails, k=12))}s" for _ in range(14_000)]
    body = " ".join(["needle", *words])

    await page_client.write("Long words", body, slug="long")

    assert await page_client.slugs("search", "needle") == ["long"]
    assert (await page_client("get_page", slug="long"))["body"] == body


async def test_query_forgives_slips_and_says_how_it_looked(page_client: PageClient) -> None:
    slip = await page_client("query", q="anual budgt")
    loose = await page_client("query", q="where are the receipts and the quartz")
    strict = await page_client("query", q="budget")

    assert slip["pages"][0]["slug"] == "annual-budget-2026"
    assert slip["pages"][0]["parts"].keys() == {"trigram"}
    assert slip["used"] == ["text", "trigram"]
    assert slip["model"] is None
    assert "No embedding model" in slip["note"]
    assert loose["pages"][0]["slug"] == "travel-rules"
    first = strict["pages"][0]
    assert first["parts"]["text"]["place"] == 1
    assert first["score"] == pytest.approx(1 / 61 + 0.5 / 61)


_WAITING = "SELECT count(*) FROM pages WHERE embedded_by IS NULL"


async def test_pages_are_found_by_meaning_where_a_model_is_set(
    bench: Bench, page_client: PageClient
) -> None:
    means = {"accessible": "open", "times": "hours", "workplace": "office"}
    model = BagOfWords(means)
    application = with_model(bench.application, model)
    asking = PageClient(application.gate, application.workspace_id)
    early = await asking("query", q="workplace accessible times")
    stop = asyncio.Event()
    watch = asyncio.create_task(run_background_loops(replace(application, embedder=model), stop))
    try:
        async with asyncio.timeout(60):
            while await application.database.fetchval(_WAITING):
                await asyncio.sleep(0.02)
    finally:
        stop.set()
        with suppress(asyncio.CancelledError):
            await watch
    found = await asking("query", q="workplace accessible times", limit=3)

    assert early["pages"] == []
    assert found["used"] == ["text", "trigram", "embedding"]
    assert (found["model"], found["note"]) == ("bag", None)
    assert found["pages"][0]["slug"] == "office-hours"
    assert found["pages"][0]["parts"].keys() == {"embedding"}
    only = await asking("query", q="workplace accessible times", type="derived")
    assert [page["slug"] for page in only["pages"]] == ["quarterly-report"]
    await asking("delete_page", slug="office-hours")
    assert "office-hours" not in await asking.slugs("query", "workplace accessible times")


async def test_one_model_made_all_vectors_that_are_compared(
    bench: Bench, page_client: PageClient
) -> None:
    database = bench.application.database
    first, second = BagOfWords(name="first"), BagOfWords(name="second", dimensions=32)
    duty = PageEmbeddingJob(database, first)
    assert await duty.open()
    while await duty.embed_some():
        pass
    before = len(first.texts)
    assert await duty.embed_some() == 0
    await page_client("update_page", slug="office-hours", body="We open at ten. " * 200)
    assert await duty.embed_some() == 1
    models = "SELECT model, count(*) AS n FROM page_vectors GROUP BY model"
    pieces = await database.fetchval(
        "SELECT count(*) FROM page_vectors v JOIN pages p ON p.id = v.page_id "
        "WHERE p.slug = 'office-hours'"
    )

    assert before == len(SHELVED)
    assert 1 < pieces <= 8
    assert [row["model"] for row in await database.fetch(models)] == ["first"]
    # Between the change of the model and its vectors nothing is compared.
    asking = with_model(bench.application, second)
    found = await PageClient(asking.gate, asking.workspace_id)("query", q="budget")
    assert all("embedding" not in page["parts"] for page in found["pages"])
    assert "new" in found["note"]
    # The second has other dimensions than the first, the third has those of the second.
    for model in (second, BagOfWords(name="third", dimensions=32)):
        other = PageEmbeddingJob(database, model)
        assert await other.open()
        while await other.embed_some():
            pass
        assert [row["model"] for row in await database.fetch(models)] == [model.name]


async def test_a_model_that_fails_leaves_words_and_says_so(
    bench: Bench, page_client: PageClient
) -> None:
    class Broken(BagOfWords):
        async def embed(self, workspace_id: UUID, texts: Any) -> Any:
            raise RuntimeError(f"no {len(texts)}")

    application = with_model(bench.application, Broken(dimensions=384))
    found = await PageClient(application.gate, application.workspace_id)("query", q="budget")

    assert found["pages"][0]["slug"] == "annual-budget-2026"
    assert found["used"] == ["text", "trigram"]
    assert "failed" in found["note"]


async def test_a_database_without_the_extensions_still_finds_words(
    bench: Bench, page_client: PageClient
) -> None:
    await bench.application.database.execute(
        "DROP FUNCTION pages_by_meaning, pages_by_likeness; DROP TABLE page_vectors"
    )
    application = with_model(bench.application, BagOfWords())
    found = await PageClient(application.gate, application.workspace_id)("query", q="budget")

    assert found["pages"][0]["slug"] == "annual-budget-2026"
    assert found["used"] == ["text"]
    assert "no vectors" in found["note"]


async def test_the_functions_that_look_from_outside_see_one_workspace(
    bench: Bench, page_client: PageClient
) -> None:
    """Attacked as a query inside would: with another workspace set, with none, and in vain."""
    application = bench.application
    duty = PageEmbeddingJob(application.database, BagOfWords())
    await duty.open()
    await duty.embed_some()
    theirs = await other_workspace(application)
    looks = [
        ("SELECT count(*) FROM pages_by_words('budget'::tsquery, NULL, 100)", 2),
        ("SELECT count(*) FROM pages_by_words('!nothing'::tsquery, NULL, 100)", len(SHELVED)),
        ("SELECT count(*) FROM pages_by_likeness('annual budget', NULL, 100)", 1),
        (f"SELECT count(*) FROM pages_by_meaning('{_vector()}', 'bag', NULL, 100)", len(SHELVED)),
        ("SELECT count(*) FROM pages", len(SHELVED)),
        ("SELECT count(*) FROM page_vectors", len(SHELVED)),
        ("SELECT count(*) FROM page_timeline", len(SHELVED)),
    ]
    for look, seen in looks:
        assert (
            await WorkspaceDatabase(application.database, application.workspace_id).fetchval(look)
            == seen
        ), look
        assert await WorkspaceDatabase(application.database, theirs).fetchval(look) == 0, look
        async with application.database.inside(theirs) as connection, connection.transaction():
            await connection.execute("SET LOCAL mainspring.workspace = ''")
            assert await connection.fetchval(look) == 0, look


_CROWD_PAGE = """
    INSERT INTO pages (workspace_id, id, slug, type, title, body, source, content_hash, created_by,
        embedded_by)
    VALUES ($1, $2, 'crowd', 'note', 'Crowd', '', 'test', '', $2, 'bag')
"""
# One page may have this many pieces as far as the table goes.
_CROWD = """
    INSERT INTO page_vectors (workspace_id, page_id, piece, model, embedding)
    SELECT $1, $2, piece, 'bag', (SELECT array_agg((number + random() / 100)::real ORDER BY place)
        FROM unnest($3::real[]) WITH ORDINALITY AS near(number, place))::halfvec
    FROM generate_series(1, $4::integer) AS piece
"""


async def _crowd(application: Application, workspace_id: UUID, near: str, many: int) -> None:
    """Very many vectors of one workspace, all of them close to one question."""
    [vector] = BagOfWords().vectors([near])
    page_id = generate_id()
    await application.database.execute(_CROWD_PAGE, workspace_id, page_id)
    await application.database.execute(_CROWD, workspace_id, page_id, vector, many)
    await application.database.execute("ANALYZE page_vectors")


async def test_what_others_keep_does_not_hide_pages_that_mean_the_same(
    bench: Bench, page_client: PageClient
) -> None:
    application = bench.application
    duty = PageEmbeddingJob(application.database, BagOfWords())
    await duty.open()
    await duty.embed_some()
    await _crowd(application, await other_workspace(application), "budget", 2_000)
    look = f"SELECT count(*) FROM pages_by_meaning('{_vector()}', 'bag', NULL, 50)"
    async with (
        application.database.inside(application.workspace_id) as connection,
        connection.transaction(),
    ):
        # As little as this is followed of what is near, where the others have millions.
        await connection.execute("SET LOCAL hnsw.max_scan_tuples = 100")
        await connection.execute("SET LOCAL enable_sort = off")
        found = await connection.fetchval(look)

    assert found == len(SHELVED)


async def test_a_table_of_ones_own_does_not_deceive_the_functions(
    bench: Bench, page_client: PageClient
) -> None:
    theirs = await other_workspace(bench.application)
    async with bench.application.database.inside(theirs) as connection, connection.transaction():
        await connection.execute(
            "CREATE TEMP TABLE pages ON COMMIT DROP AS SELECT * FROM public.pages WITH NO DATA"
        )
        await connection.execute(
            "CREATE FUNCTION pg_temp.inside_workspace() RETURNS uuid LANGUAGE sql "
            f"RETURN '{bench.application.workspace_id}'::uuid"
        )
        found = await connection.fetchval(
            "SELECT count(*) FROM public.pages_by_words('budget'::tsquery, NULL, 9)"
        )

    assert found == 0


async def test_nobody_inside_may_open_what_the_owner_opens(bench: Bench) -> None:
    async with bench.application.database.inside(bench.application.workspace_id) as connection:
        for call in ("open_page_likeness()", "open_page_vectors(64)"):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.execute(f"SELECT {call}")


def _vector() -> str:
    [numbers] = BagOfWords().vectors(["budget"])
    return str(numbers)


async def test_the_names_of_the_search_space_lead_to_the_same_pages(
    bench: Bench, page_client: PageClient
) -> None:
    here = str(bench.application.workspace_id)
    theirs = str(await other_workspace(bench.application))
    found = await page_client("search_space.query", query="receipts", search_space_id=here)
    page_id = found["pages"][0]["id"]
    page = await page_client("search_space.fetch_document", document_id=page_id, brain_id=here)
    foreign = await _refused(page_client("search_space.query", query="x", search_space_id=theirs))
    missing = await _refused(page_client("search_space.query", query="x", brain_id=page_id))

    assert page == await page_client("get_page", slug="travel-rules")
    assert isinstance(foreign, NotFound)
    assert foreign.as_dict() == missing.as_dict()
    assert isinstance(
        await _refused(
            page_client("search_space.fetch_document", document_id=page_id, search_space_id=theirs)
        ),
        NotFound,
    )


@pytest.mark.parametrize("name", ["search_space.query", "query", "search"])
async def test_pages_are_found_by_their_tags_and_since_a_moment(
    page_client: PageClient, name: str
) -> None:
    tagged = {
        "Acme prices": ["Competitor", "pricing"],
        "Bolt prices": "competitor, news",
        "Prices of ours": ["internal"],
    }
    for title, tags in tagged.items():
        await page_client.write(title, "What it costs.", type="note", frontmatter={"tags": tags})
    pages = (await page_client("list_pages"))["pages"]
    moment = next(page["ingested_at"] for page in pages if page["title"] == "Bolt prices")

    async def titles(**asked: Any) -> list[str]:
        found = (await page_client(name, **asked))["pages"]
        return sorted(page["title"] for page in found)

    assert await titles(q="prices", tags=["competitor"]) == ["Acme prices", "Bolt prices"]
    assert await titles(q="prices", tags=["pricing", "internal"]) == [
        "Acme prices",
        "Prices of ours",
    ]
    assert await titles(q="costs", since=moment) == ["Bolt prices", "Prices of ours"]
    assert await titles(q="prices", tags=["competitor"], since=moment) == ["Bolt prices"]
    # Without a question the newest come first.
    assert await titles(tags=["competitor"]) == ["Acme prices", "Bolt prices"]
    newest = (await page_client(name, since=moment))["pages"]
    assert [page["title"] for page in newest] == ["Prices of ours", "Bolt prices"]
    assert newest[0]["snippet"] == "What it costs."
    assert await titles(q="prices", tags=["nothing"]) == []
    problem = await _refused(page_client(name, q="prices", since="yesterday"))
    assert [finding.pointer for finding in problem.findings] == ["/since"]
    for wrong in ({}, {"type": "note"}, {"q": "a", "text": "b", "tags": ["c"]}):
        assert isinstance(await _refused(page_client(name, **wrong)), Invalid)


async def test_a_filter_looks_past_the_best_pages(page_client: PageClient) -> None:
    for number in range(60):
        await page_client.write(f"Budget {number}", "The budget. " * 5, type="note")
    await page_client.write(
        "Something else",
        "It has one budget in many words.",
        type="note",
        frontmatter={"tags": ["rare"]},
    )
    for name in ("search", "query"):
        found = await page_client(name, q="budget", tags=["rare"], limit=1)
        assert [page["title"] for page in found["pages"]] == ["Something else"]


async def test_lists_go_on_where_they_ended(page_client: PageClient) -> None:
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        part = await page_client("list_pages", limit=2, **cursor)
        seen += [page["title"] for page in part["pages"]]
        if part["next"] is None:
            break
        cursor = {"cursor": part["next"]}
    everything = (await page_client("list_pages"))["pages"]
    moment = everything[2]["ingested_at"]
    later = await page_client("list_pages", ingested_after=moment)
    earlier = await page_client("list_pages", ingested_before=moment, type="note")

    assert seen == [title for title, _, _ in reversed(SHELVED)]
    assert len(later["pages"]) == 2
    assert [page["title"] for page in earlier["pages"]] == ["Travel rules", "Annual budget 2026"]
    for wrong, pointer in (
        ({"cursor": "none"}, "/cursor"),
        ({"ingested_after": "yesterday"}, "/ingested_after"),
        ({"limit": 101}, "/limit"),
    ):
        problem = await _refused(page_client("list_pages", **wrong))
        assert [finding.pointer for finding in problem.findings] == [pointer]


async def test_calendar_events_are_listed_by_the_time_they_take_place(
    bench: Bench, page_client: PageClient
) -> None:
    application = bench.application
    by = PageWriter(application.workspace_id, "client", application.workspace_id, "google_calendar")
    times: list[dict[str, Any]] = [
        {"start": "2026-03-01T09:00:00+01:00", "end": "2026-03-01T10:00:00+01:00"},
        {
            "start": {"dateTime": "2026-03-02T09:00:00Z"},
            "end": {"dateTime": "2026-03-04T09:00:00Z"},
        },
        {"start": "2026-03-05"},
        {"start": "some day"},
    ]
    async with application.database.transaction() as tx:
        for number, values in enumerate(times):
            page = PageDraft(f"e{number}", "calendar_event", f"Event {number}", "", values)
            await ingest(tx, page, by)

    async def between(start: str, end: str) -> list[str]:
        found = await page_client("list_calendar_events", start=start, end=end)
        return [page["slug"] for page in found["pages"]]

    assert await between("2026-03-01", "2026-03-06") == ["e0", "e1", "e2"]
    assert await between("2026-03-01T08:00:01Z", "2026-03-01T08:30:00Z") == ["e0"]
    assert await between("2026-03-03", "2026-03-04") == ["e1"]
    assert await between("2026-03-06", "2026-03-07") == []
    first = await page_client("list_calendar_events", start="2026-01-01", end="2027-01-01", limit=1)
    then = await page_client(
        "list_calendar_events", start="2026-01-01", end="2027-01-01", cursor=first["next"]
    )
    assert [page["slug"] for page in then["pages"]] == ["e1", "e2"]
    assert first["pages"][0]["start"] == datetime(2026, 3, 1, 8, tzinfo=UTC).isoformat()
    for wrong in (
        ("2026-03-02", "2026-03-01"),
        ("tomorrow", "2026-03-01"),
        ("2026-03-01", "x" * 9),
    ):
        assert isinstance(await _refused(between(*wrong)), Invalid)


async def test_the_longest_body_is_kept_and_found_by_its_beginning(page_client: PageClient) -> None:
    # Words of two bytes a letter, each once: the most that an index of words can be asked to hold.
    body = " ".join(f"ж{number:05d}щ" for number in range(100_000))[:500_000]
    while len(body.encode()) > 1_000_000:
        body = body[:-1_000]
    await page_client.write("Long", body, slug="long")

    assert await page_client.slugs("search", "ж00042щ") == ["long"]
    assert (await page_client("get_page", slug="long", include=["body"]))["body"] == body
