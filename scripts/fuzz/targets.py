"""Every parser that eats bytes from outside, as a function of bytes.

A target answers a value or a problem that a person can read. Anything else that comes out of
it is a finding.
"""

from __future__ import annotations

import asyncio
import io
import zipfile
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from mainspring.contracts.html_text import extract_html_text
from mainspring.contracts.mail_parser import decode_header_text, read_mail
from mainspring.definition.cron import describe, get_smallest_interval, parse_cron
from mainspring.definition.filters.evaluate import compile_filter
from mainspring.definition.json_schema.validator import check_schema
from mainspring.definition.jsonpath import parse_path
from mainspring.definition.patterns import compile_pattern
from mainspring.definition.schema import ANTI_EXAMPLES, EXAMPLES
from mainspring.definition.templates.filters import format_date
from mainspring.definition.templates.template import parse_predicate, parse_template
from mainspring.definition.validate import validate
from mainspring.gate.run_tokens import is_run_token
from mainspring.integrations.ics.calendar import list_events_between
from mainspring.integrations.rss.feed import parse_entries
from mainspring.outbound.egress.headers import read_headers
from mainspring.outbound.egress.url import parse_url, resolve_location
from mainspring.outbound.mail.smtp import read_smtp_url
from mainspring.recipes.carrying.model import WorkspaceContent, WorkspaceResource
from mainspring.recipes.carrying.workspace_files import read_files, to_files
from mainspring.recipes.package.example_recipes import build_good_recipe
from mainspring.recipes.package.loader import read_archive
from mainspring.recipes.package.parser import read_package
from mainspring.registry import build_registry
from mainspring.settings import read_settings
from mainspring.surfaces.mcp.mount import check_address
from mainspring.surfaces.rest.oauth import read_form, read_query, showing
from mainspring.surfaces.rest.paging import read_cursor, write_cursor
from mainspring.surfaces.rest.request_bodies import read_json_body
from mainspring.triggers.webhook_signatures import PROVIDERS, STANDARD, ReceivedRequest
from mainspring.workspace.boards.columns import RowValidator, find_column_problems
from mainspring.workspace.pages.content import parse_event_time
from scripts.fuzz.envelope_targets import around
from scripts.fuzz.target import LIMITS, Target, as_bytes, as_request, as_text, as_value

_NOW: Final = datetime(2026, 3, 1, 9, tzinfo=UTC)
_CONTEXT: Final[Mapping[str, Any]] = {
    "inputs": {"n": 3, "name": "Ada", "rows": [{"a": 1}, {"a": 2}], "none": None},
    "trigger": {"body": {"ref": "main", "commits": [1, 2]}},
    "steps": {"one": {"text": "x" * 100}},
    "run": {"id": "1", "started_at": "2026-03-01T09:00:00+00:00"},
}
_PAYLOAD: Final = {"a": {"b": [1, 2, {"c": "xyz"}]}, "name": "aaaaaaaaaaaaaaaaaaaaaaaaaaaa!"}


def _words() -> Callable[[bytes], Any]:
    registry = build_registry(LIMITS)
    return lambda data: validate(as_value(data), registry, LIMITS)


def _filter(data: bytes) -> Any:
    written = as_value(data)
    return compile_filter(written, LIMITS)(_PAYLOAD)


def _pattern(data: bytes) -> Any:
    made = compile_pattern(as_text(data), LIMITS)
    return made.found_in("a" * 200 + "!"), made.covers("aaaaaaaaaaaaaaaaaaaaaaaaaaaaab")


def _cron(data: bytes) -> Any:
    made = parse_cron(as_text(data))
    return get_smallest_interval(made), describe(made)


def _template(data: bytes) -> Any:
    return parse_template(as_text(data), LIMITS).render(_CONTEXT)


def _predicate(data: bytes) -> Any:
    return parse_predicate(as_text(data), LIMITS).test(_CONTEXT)


def _date(data: bytes) -> Any:
    text, _, pattern = as_text(data).partition("|")
    parse_event_time(text)
    return format_date(text, pattern)


def _signature(data: bytes) -> Any:
    parts = [*data.split(b"\n", 3), b"", b"", b""]
    id_, timestamp, signature = (part.decode("latin-1") for part in parts[:3])
    schemes = [STANDARD, *(one for provider in PROVIDERS.values() for one in provider.schemes)]
    for scheme in schemes:
        headers = {scheme.header: signature}
        headers |= {scheme.timestamp_header: timestamp} if scheme.timestamp_header else {}
        headers |= {scheme.id_header: id_} if scheme.id_header else {}
        request = ReceivedRequest("POST", "https://example.com/hook", headers, b"{}")
        scheme.is_signed(request, [as_text(parts[3])], _NOW)
    return None


def _webhook(data: bytes) -> Any:
    return asyncio.run(read_json_body(as_request(data), LIMITS))


def _oauth(data: bytes) -> Any:
    async def read() -> Any:
        request = as_request(data)
        read_query(request)
        return showing(request, await read_form(request, 20_000))

    return asyncio.run(read())


def _address(data: bytes) -> None:
    check_address(as_request(data).scope, "https://mainspring.example")


def _archive(data: bytes) -> Any:
    return read_package(read_archive(data, LIMITS), LIMITS)


def _package(data: bytes) -> Any:
    return read_package(as_value(data), LIMITS)


def _folder(data: bytes) -> Any:
    """A folder: lines that begin with ``=== `` are the names of files."""
    files: dict[str, str] = {}
    for part in as_text(data).split("=== ")[1:]:
        name, _, text = part.partition("\n")
        files[name] = text
    return read_files(files, LIMITS)


def _calendar(data: bytes) -> Any:
    return asyncio.run(list_events_between(data, _NOW, _NOW.replace(month=5)))


def _feed(data: bytes) -> Any:
    return asyncio.run(parse_entries(data, "application/rss+xml"))


def _mail(data: bytes) -> Any:
    try:
        return read_mail(data)
    except ValueError as error:
        # It says so of a mail that it gives up on; whatever else is a ValueError does not.
        if "cannot be read" not in str(error):
            raise
        return None


def _board(data: bytes) -> None:
    request = as_value(data)
    if not isinstance(request, dict):
        return
    columns, rows = (
        [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []
        for given in (request.get("columns"), request.get("rows"))
    )
    checked = RowValidator(
        [{"key": "a", "field_type": "number"}, {"key": "d", "field_type": "date"}], LIMITS
    )
    for number, row in enumerate(rows):
        checked.check_values(row, f"/{number}")
        checked.encode(row, f"/{number}")
    if all({"key", "label"} <= one.keys() for one in columns):
        list(find_column_problems(columns, ""))
    checked.raise_findings()


def _settings(data: bytes) -> Any:
    lines = (line.partition("=") for line in as_text(data).splitlines())
    output = {
        f"MAINSPRING_{name}": value for name, found, value in lines if found and name != "HOME"
    }
    return read_settings(output, Path("/nonexistent"))


def _smtp(data: bytes) -> Any:
    return read_smtp_url(as_text(data))


def _url(data: bytes) -> Any:
    first, _, second = as_text(data).partition("\n")
    made = parse_url(first)
    return resolve_location(made, second) if second else made


def _cursor(data: bytes) -> Any:
    text = as_text(data)
    is_run_token(text)
    return read_cursor(text)


def _headers(data: bytes) -> Any:
    return read_headers(
        [(one.partition(b":")[0], one.partition(b":")[2]) for one in data.split(b"\n")]
    )


def _zip(**files: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "."), content)
    return made.getvalue()


def _shelf() -> bytes:
    columns = [{"key": "a", "label": "A"}]
    board = {"name": "b", "datasets": [{"name": "default", "columns": columns}]}
    things = (
        WorkspaceResource("automation", "a", EXAMPLES[0].document),
        WorkspaceResource("board", "b", board, rows={"default": [{"a": 1}]}),
        WorkspaceResource("prompt", "p", {"name": "p", "text": "every day"}),
    )
    files = to_files(WorkspaceContent(things))
    return "".join(f"=== {name}\n{text}" for name, text in files.items()).encode()


_DEFINITIONS: Final = [
    *(as_bytes(one.document) for one in EXAMPLES[:6]),
    *(as_bytes(one.document) for one in ANTI_EXAMPLES[:6]),
]
_HEAD: Final = (
    b"a=1&state=x\ncontent-type: application/json\ncontent-length: 7\nhost: 127.0.0.1:8080"
)
_FORM: Final = _HEAD.replace(b"application/json", b"application/x-www-form-urlencoded")
_ICS: Final = (
    b"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VEVENT\r\nUID:1\r\n"
    b"DTSTART:20260302T090000Z\r\nDTEND:20260302T100000Z\r\nRRULE:FREQ=WEEKLY;COUNT=5\r\n"
    b"SUMMARY:Clock\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
)
_RSS: Final = (
    b'<?xml version="1.0"?><rss version="2.0"><channel><title>t</title><item><title>one</title>'
    b"<link>https://example.org/1</link><guid>1</guid><pubDate>Mon, 02 Mar 2026 09:00:00 GMT"
    b"</pubDate><description>&lt;p&gt;hello&lt;/p&gt;</description></item></channel></rss>"
)
_MAIL: Final = (
    b"From: =?utf-8?q?A?= <a@example.org>\r\nTo: b@example.org\r\nSubject: =?utf-8?b?SGk=?=\r\n"
    b"Date: Mon, 02 Mar 2026 09:00:00 +0000\r\nMIME-Version: 1.0\r\n"
    b'Content-Type: multipart/mixed; boundary="x"\r\n\r\n--x\r\nContent-Type: text/html\r\n\r\n'
    b"<p>hello</p>\r\n--x--\r\n"
)
_FILTERS: Final = [
    {"a.b": {"contains": 1}},
    {"$or": [{"name": {"matches": "(a+)+$"}}, {"x": {"exists": False}}]},
    {"name": {"in": ["x"], "not": {"equals": 1}}},
    {"$not": {"a": {"gt": 5}}},
]
_COLUMNS: Final = [{"key": "a", "label": "A", "field_type": "number"}]


def targets() -> list[Target]:
    """All of them."""
    return [*_definitions(), *_requests(), *_packages(), *_contents(), *_addresses(), *around()]


def _definitions() -> list[Target]:
    return [
        Target("JSON", as_value, [*_DEFINITIONS, b'{"a":[1,2.5,null,"x"]}'], [b'"', b"{", b"["]),
        Target("definition", _words(), _DEFINITIONS, [b'"$ref"', b'"plan"', b"{{ inputs.n }}"]),
        Target(
            "JSON schema",
            lambda data: check_schema(as_value(data), LIMITS),
            [
                as_bytes(
                    {"type": "object", "properties": {"a": {"pattern": "^a+$", "minimum": 1}}}
                ),
                as_bytes({"$defs": {"a": {"$ref": "#/$defs/a"}}, "anyOf": [{"$ref": "#/$defs/a"}]}),
            ],
            [b'"$ref"', b'"#"', b'"pattern"', b'"allOf"', b'"$dynamicRef"'],
        ),
        Target("filter", _filter, [as_bytes(one) for one in _FILTERS], [b'"$and"', b'"matches"']),
        Target(
            "pattern",
            _pattern,
            [b"^a+b$", b"(a|b)*c{2,5}", b"[a-z]+@[a-z]+\\.org"],
            [b"(", b")", b"*", b"{1,500}", b"|", b"\\b", b"(?i)"],
        ),
        Target(
            "cron",
            _cron,
            [b"0 9 * * 1-5", b"*/5 0-12/2 1,15 JAN MON", b"@daily", b"0 0 L * *"],
            [b"*/", b"-", b",", b"?", b"#", b"W"],
        ),
        Target(
            "template",
            _template,
            [
                b"Hello {{ inputs.name | upper }}",
                b"{% for r in inputs.rows %}{{ r.a * 2 }}{% endfor %}",
                b"{% if inputs.n > 2 %}{{ inputs.rows | map(attribute='a') | join(', ') }}{% endif %}",  # noqa: E501
                b"{{ run.started_at | date('%Y-%m-%d') }} {{ 'a' * 10 }} {{ 2 ** 8 }} {{ range(9) }}",  # noqa: E501
            ],
            [
                b"{{ ",
                b" }}",
                b"{% for a in range(999999) %}",
                b"{% endfor %}",
                b" | ",
                b"**",
                b"[0]",
                b"__class__",
                b"{% set a = inputs %}",
                b"{#",
                b"|tojson",
                b"{{ 'a' * 9999999 }}",
            ],
        ),
        Target(
            "predicate",
            _predicate,
            [
                b"inputs.n > 2 and inputs.name == 'Ada'",
                b"not inputs.none",
                b"'a' in inputs.name or 3 in [1,2,3]",
            ],
            [b" and ", b" is defined", b"(", b"**"],
        ),
        Target(
            "JSON path",
            lambda data: parse_path(as_text(data), LIMITS).find(_PAYLOAD),
            [
                b"$.a.b[*].c",
                b"$..c",
                b"$.a.b[?@.c == 'x']",
                b"$['a']['b'][0:2:1]",
                b"$.a.b[?match(@.c, 'x.*')]",
            ],
            [b"..", b"[*]", b"[?", b"@", b"length(", b"-1", b"::"],
        ),
        Target(
            "moment",
            _date,
            [b"2026-03-01T09:00:00+01:00|%Y-%m-%d %H:%M", b"2026-03-01|%A %-d"],
            [b"%", b"%-", b"T", b"Z", b"+99:99", b"W01"],
        ),
    ]


def _requests() -> list[Target]:
    return [
        Target(
            "webhook signature",
            _signature,
            [
                b"msg_1\n1772355600\nv1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=\nwhsec_MfKQ9r8=",
            ],
            [b"v1,", b"v1a,", b" ", b"whsec_"],
        ),
        Target(
            "request body",
            _webhook,
            [_HEAD + b'\n\n{"a":1}', _HEAD + b"\n\n[]"],
            [
                b"content-type: application/json; charset=",
                b"content-encoding: gzip",
                b"content-length: -1",
                b"content-type: multipart/form-data; boundary=x",
            ],
        ),
        Target(
            "OAuth form",
            _oauth,
            [
                _FORM + b"\n\ngrant_type=authorization_code&code=x&client_id=c&code_verifier=v",
                _FORM + b"\nauthorization: Basic YTpi\n\ngrant_type=refresh_token&refresh_token=r",
            ],
            [b"authorization: Basic ", b"%00", b"client_secret=", b"&client_id=c"],
        ),
        Target(
            "host and origin",
            _address,
            [
                _HEAD + b"\norigin: http://127.0.0.1:8080",
                b"\nhost: mainspring.example\norigin: null",
            ],
            [b"host: ", b"origin: ", b"[::1]", b":99999"],
        ),
    ]


def _packages() -> list[Target]:
    recipe = build_good_recipe()
    return [
        Target(
            "recipe package", _package, [as_bytes(recipe)], [b'"template"', b'"format"', b"{{ "]
        ),
        Target(
            "recipe archive",
            _archive,
            [
                _zip(recipe__json=as_bytes(recipe)),
                _zip(**{"x/recipe__json": as_bytes(recipe)}),
            ],
            [b"PK\x01\x02", b"PK\x03\x04", b"../../x", b"recipe.json"],
        ),
        Target(
            "workspace folder",
            _folder,
            [_shelf()],
            [b"=== ", b"boards/b/x.json\n", b"../x\n", b"automations/a/b.ts\n", b"{{ board:b }}"],
        ),
    ]


def _contents() -> list[Target]:
    return [
        Target(
            "calendar",
            _calendar,
            [_ICS],
            [
                b"RRULE:",
                b"DTSTART;TZID=",
                b"EXDATE:",
                b"BEGIN:VEVENT\r\n",
                b"END:VEVENT\r\n",
                b"BEGIN:VTIMEZONE\r\n",
                b"RDATE:",
            ],
        ),
        Target(
            "feed", _feed, [_RSS], [b"<item>", b"</item>", b"<![CDATA[", b"<entry>", b"xmlns=''"]
        ),
        Target(
            "mail",
            _mail,
            [_MAIL],
            [
                b"Content-Transfer-Encoding: base64\r\n",
                b"--x\r\n",
                b"Content-Type: text/plain; charset=",
                b"=?utf-8?q?",
                b"?=",
                b"\r\n\r\n",
            ],
        ),
        Target(
            "mail header",
            lambda data: decode_header_text(as_text(data)),
            [
                b"=?utf-8?b?SGk=?= there",
            ],
            [b"=?", b"?=", b"?q?", b"?b?", b"utf-7"],
        ),
        Target(
            "HTML",
            lambda data: extract_html_text(as_text(data)),
            [
                b"<p>Hello <b>there</b></p><script>x</script><a href='y'>z</a><!-- c -->",
            ],
            [b"<", b">", b"<!--", b"-->", b"<style>", b"&amp;", b"<table><tr><td>"],
        ),
        Target(
            "board rows",
            _board,
            [as_bytes({"columns": _COLUMNS, "rows": [{"a": 1, "d": "2026-03-01"}, {"b": "x"}]})],
            [b'"_id"', b'"d"'],
        ),
    ]


def _addresses() -> list[Target]:
    return [
        Target(
            "settings",
            _settings,
            [
                b"PORT=8080\nSLOTS=4\nEGRESS_ALLOW=127.0.0.1:9,x:1\nLIMIT_JSON_BYTES=1000\nLOG=json",
                b"PUBLIC_URL=https://x.example\nLEASE_SECONDS=20\nTRANSPORT=celery\nBROKER_URL=redis://x",
            ],
            [b"LIMIT_", b"PORT=", b"HOST=", b"POLL_SECONDS=nan", b"TRANSPORT=", b"SMTP_URL="],
        ),
        Target(
            "mail server URL",
            _smtp,
            [b"smtp://user:pass@host:587", b"smtps://host"],
            [b"smtp://", b"@", b":", b"%40", b"[::1]"],
        ),
        Target(
            "URL and redirect",
            _url,
            [
                b"https://user@example.org:8443/a?b=c#d\n/e/../f",
                b"http://[::1]:80/\n//x",
                b"http://1.2",
            ],
            [b"//", b"[", b"]", b"%2e", b"\\", b"xn--", "ß".encode(), b"0x7f.1"],
        ),
        Target(
            "response headers",
            _headers,
            [b"Content-Type: text/plain\nSet-Cookie: a=b"],
            [b":", b"\r", b"Retry-After: "],
        ),
        Target(
            "cursor",
            _cursor,
            [write_cursor(UUID(int=7)).encode(), b"msr_" + b"a" * 43],
            [b"-", b"_", b"=", b"A"],
        ),
    ]
