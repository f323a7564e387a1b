"""The content of a page, validated before it is stored."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from mainspring.contracts.display_text import clean_name, name_findings
from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.strict_json import (
    check_value,
    encode_canonical,
    hash_content,
    join_pointer,
)
from mainspring.workspace.pages.front_matter import format_front_matter, is_name, split

# Slugs: a page's name in its workspace, the same in every interface.

LONGEST_SLUG: Final = 200
SLUG_PATTERN: Final = r"^[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?$"
_SLUG: Final = re.compile(SLUG_PATTERN.rstrip("$"))
_OTHER: Final = re.compile(r"[^a-z0-9]+")
_ROOM: Final = 80


def is_slug(text: str) -> bool:
    return len(text) <= LONGEST_SLUG and _SLUG.fullmatch(text) is not None


def build_slug(title: str) -> str:
    """Build a slug from a title, deterministically."""
    plain = unicodedata.normalize("NFKD", title.replace("ß", "ss"))
    mails = plain.encode("ascii", "ignore").decode().lower()
    made = _OTHER.sub("-", mails).strip("-")
    if len(made) > _ROOM:
        # Long titles often differ only at their end.
        made = f"{made[:_ROOM].rstrip('-')}-{mark_of(title)}"
    elif sum(letter.isalnum() for letter in plain) > 2 * len(made.replace("-", "")):
        # Most of the title has letters that a slug cannot contain.
        made = f"{made or 'page'}-{mark_of(title)}"
    return made or f"page-{mark_of(title)}"


def build_source_slug(slug: str, source_ref: str) -> str:
    """Build another slug for a page of another source with the same title."""
    return f"{slug[: LONGEST_SLUG - 9]}-{mark_of(source_ref)}"


def list_numbered_slugs(slug: str, title: str) -> list[str]:
    """List numbered slugs, for a page with another title that yields the same slug."""
    made = [f"{slug[: LONGEST_SLUG - 2]}-{number}" for number in range(2, 10)]
    return [*made, build_source_slug(slug, title)]


def is_same_title(one: str, other: str) -> bool:
    """Compare titles, ignoring case and whitespace."""
    return _read_out(one) == _read_out(other)


def _read_out(title: str) -> str:
    return " ".join(unicodedata.normalize("NFC", title).casefold().split())


def mark_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


LONGEST_TITLE: Final = 500
LONGEST_REF: Final = 500
LONGEST_TYPE: Final = 64
MOST_VALUES: Final = 100
_VALUES_DEPTH: Final = 4
TYPE_PATTERN: Final = r"^[a-z][a-z0-9_]*$"
# Only integrations write these types: readers rely on their origin.
RESERVED: Final = frozenset(
    {"email", "calendar_event", "gdrive_file", "chat_session", "gh_pr", "integration_action"}
)
# The slug prefix of generated pages, which nobody else may use.
GENERATED_SLUG_PREFIX: Final = "integration-action."
GENERATED_REF_PREFIX: Final = "install:"
# Also read from front matter, when a text contains them.
_OWN_NAMES: Final = ("slug", "type", "title", "source_ref")
_STARTS: Final = ("start", "start_time", "starts_at", "start_at", "date")
_ENDS: Final = ("end", "end_time", "ends_at", "end_at")


@dataclass(frozen=True, slots=True)
class PageDraft:
    """A page to be written."""

    slug: str
    type: str
    title: str
    body: str
    frontmatter: Mapping[str, Any] = field(default_factory=dict)
    # The front matter as written; None when it was given as values.
    head: str | None = None
    source_ref: str | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    # Whether the slug was given, or built from the title.
    named: bool = False

    @property
    def hash(self) -> bytes:
        """A hash that is equal for pages with the same content, whatever their origin."""
        return hash_content(
            [self.type, self.title, self.body, dict(self.frontmatter), self.head or ""]
        )


def format_page(row: Mapping[str, Any]) -> str:
    """Render the page as one text with its front matter."""
    head = row["head"]
    if head is None:
        shown = {"title": row["title"], "type": row["type"], **row["frontmatter"]}
        head = format_front_matter(shown)
    return f"{head}{row['body']}"


def read_writing(
    arguments: Mapping[str, Any], limits: Limits, *, in_run: bool = False
) -> PageDraft:
    """Parse a page from call arguments; problems are reported with their pointers.

    A run may build titles from external input, such as a mail's subject: those are cleaned instead
    of rejected, so that outsiders cannot make it fail.
    """
    check_value(dict(arguments), limits)
    head: str | None = None
    body, values = arguments.get("body", ""), dict(arguments.get("frontmatter", {}))
    answer: dict[str, Any] = dict(arguments)
    if "markdown" in arguments:
        head, body, values = split(arguments["markdown"], limits)
        answer = {name: values[name] for name in _OWN_NAMES if name in values} | answer
        if "title" not in answer:
            answer["title"] = clean_name(_find_heading(body))
    title = "" if answer.get("title") is None else str(answer["title"])
    title = clean_name(title) if in_run else title
    slug = answer.get("slug")
    kept = PageDraft(
        slug=build_slug(title) if slug is None else str(slug),
        type=str(answer.get("type", "")),
        title=title,
        body=body,
        frontmatter=values,
        head=head or None,
        source_ref=None if answer.get("source_ref") is None else str(answer["source_ref"]),
        provenance=dict(arguments.get("provenance", {})),
        named=slug is not None,
    )
    named = name_findings(kept.title, "/title")
    refuse([*_find_reserved_names(kept), *named, *find_page_problems(kept, limits)])
    return kept


def _find_reserved_names(page: PageDraft) -> Iterator[Finding]:
    """Find slugs that are reserved for generated pages."""
    if page.slug.startswith(GENERATED_SLUG_PREFIX):
        detail = f"Slugs that start with {GENERATED_SLUG_PREFIX} are reserved for generated pages."
        yield Finding("/slug", detail, "reserved_page_name", "Choose another slug.")
    if page.source_ref is not None and page.source_ref.startswith(GENERATED_REF_PREFIX):
        detail = (
            f"A source_ref that starts with {GENERATED_REF_PREFIX} is reserved for generated pages."
        )
        yield Finding("/source_ref", detail, "reserved_page_name", "Choose another source_ref.")


def _find_heading(body: str) -> str:
    """Return the first level-one heading, without closing marks."""
    for line in body.split("\n"):
        if not line.startswith(("# ", "#\t")):
            continue
        text = line[1:].strip()
        bare = text.rstrip("#")
        found = text if bare and not bare[-1].isspace() else bare.rstrip()
        if found:
            return found[:LONGEST_TITLE]
    return ""


def find_page_problems(page: PageDraft, limits: Limits) -> list[Finding]:
    """Find every problem of a page, each with its pointer."""
    return [
        *_name_findings(page),
        *_find_text_problems(page, limits),
        *find_front_matter_problems(page.frontmatter, "/frontmatter", limits),
        *find_front_matter_problems(page.provenance, "/provenance", limits),
    ]


def _name_findings(page: PageDraft) -> list[Finding]:
    found = []
    if not is_slug(page.slug):
        found.append(
            Finding(
                "/slug",
                f"A slug is 1 to {LONGEST_SLUG} small letters, digits, dots, dashes and "
                "underscores; it begins and ends with a letter or a digit.",
                "page_slug",
                "For example weekly-report-12.",
            )
        )
    if len(page.type) > LONGEST_TYPE or not re.fullmatch(TYPE_PATTERN.rstrip("$"), page.type):
        found.append(
            Finding(
                "/type",
                f"A type is one lower-case name of at most {LONGEST_TYPE} characters.",
                "page_type",
                "For example note, derived or meeting_minutes.",
            )
        )
    ref = page.source_ref
    if ref is not None and not 0 < len(ref) <= LONGEST_REF:
        detail = f"A source_ref has 1 to {LONGEST_REF} characters."
        found.append(Finding("/source_ref", detail, "page_source_ref"))
    return found


def _find_text_problems(page: PageDraft, limits: Limits) -> list[Finding]:
    found = []
    if not page.title.strip() or len(page.title) > LONGEST_TITLE:
        found.append(
            Finding(
                "/title",
                f"A page has a title of 1 to {LONGEST_TITLE} characters.",
                "page_title",
                "Give title, or begin the text with a heading.",
            )
        )
    size = len(page.body.encode())
    if size > limits.page_bytes:
        detail = f"The body is {size:,} bytes; at most {limits.page_bytes:,} are kept."
        found.append(Finding("/body", detail, "page_too_large", "Split it into several pages."))
    return found


def find_front_matter_problems(values: Mapping[str, Any], at: str, limits: Limits) -> list[Finding]:
    """Find problems in front matter or provenance."""
    if len(values) > MOST_VALUES:
        return [Finding(at, f"There are more than {MOST_VALUES} values.", "page_values")]
    found = [
        Finding(
            join_pointer(at, name),
            "A name here begins with a letter and has at most 100 letters, digits, dots, "
            "dashes, spaces and underscores.",
            "page_value_name",
        )
        for name in values
        if not is_name(name)
    ]
    found += [
        Finding(
            join_pointer(at, name),
            f"A value has at most {_VALUES_DEPTH} levels.",
            "page_value_depth",
        )
        for name, value in values.items()
        if _measure_depth(value) > _VALUES_DEPTH
    ]
    if not found and len(encode_canonical(dict(values))) > limits.page_values_bytes:
        detail = f"Together the values must not be larger than {limits.page_values_bytes:,} bytes."
        found.append(Finding(at, detail, "page_values_too_large"))
    return found


def _measure_depth(value: Any, seen: int = 0) -> int:
    if seen > _VALUES_DEPTH or not isinstance(value, (dict, list)):
        return seen
    inner = value.values() if isinstance(value, dict) else value
    return max((_measure_depth(item, seen + 1) for item in inner), default=seen + 1)


def refuse(findings: Sequence[Finding]) -> None:
    if findings:
        raise Invalid(
            f"The page cannot be kept: {findings[0].detail}",
            code=findings[0].code,
            findings=findings,
        )


def refuse_reserved(kind: str) -> None:
    """Reject types that only integrations may write."""
    if kind in RESERVED:
        detail = f"Pages of the type {kind} are brought in by integrations and not written here."
        raise Invalid(
            detail,
            code="reserved_page_type",
            findings=[
                Finding(
                    "/type", detail, "reserved_page_type", "Choose a type of your own, or derived."
                )
            ],
        )


def read_event_times(values: Mapping[str, Any]) -> tuple[datetime | None, datetime | None]:
    """Return the start and end of a calendar event from its front matter, if present."""
    start = next((found for name in _STARTS if (found := parse_event_time(values.get(name)))), None)
    end = next((found for name in _ENDS if (found := parse_event_time(values.get(name)))), None)
    return start, None if start is None or end is None or end < start else end


def parse_event_time(value: Any) -> datetime | None:
    """Parse a time from text or a calendar's own format; a date starts at midnight UTC."""
    if isinstance(value, Mapping):
        value = value.get("dateTime", value.get("date"))
    if not isinstance(value, str):
        return None
    try:
        found = datetime.fromisoformat(value.strip())
    except ValueError:
        return None
    if found.tzinfo is None:
        found = found.replace(tzinfo=UTC)
    try:
        return found.astimezone(UTC)
    except OverflowError:
        return None
