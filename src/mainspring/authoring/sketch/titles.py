"""What is to be called something: a page called Morning news, a mail with the subject Numbers."""

from __future__ import annotations

import re
from typing import Final

from mainspring.authoring.sketch.verbs import READ, VERBS, split_words

_SAID: Final = (
    r"(?:\"(?P<{0}a>[^\"\n]{{1,150}})\"|“(?P<{0}b>[^”\n]{{1,150}})”|'(?P<{0}c>[^'\n]{{1,150}})'"
    r"|(?P<{0}d>[^\s,.;:!?\n\"“'#]{{1,40}}(?: [^\s,.;:!?\n\"“'#]{{1,40}}){{0,7}}))"
)
_CALLED: Final = re.compile(
    r"\b(?P<noun>page|note|document|doc|report|file|mail|e-?mail|message|notification|summary)"
    r" (?:that is |which is )?(?:called|titled|named|entitled) " + _SAID.format("n"),
    re.IGNORECASE,
)
_WITH: Final = re.compile(
    r"\b(?:with|under|using) (?:the |a |an )?(?P<noun>subject|title)(?: line)?(?: of| is|:)? "
    + _SAID.format("w"),
    re.IGNORECASE,
)
_SUBJECT: Final = re.compile(
    r"(?:,|\band) (?:the )?(?P<noun>subject)(?: line)?(?: is|:)? " + _SAID.format("s"),
    re.IGNORECASE,
)
# The first of these words ends a title that is not in quotation marks.
_ENDS: Final = split_words(
    "and to every each when whenever if on in into at for from with by then via using please "
    "containing about that which saying daily weekly monthly"
)
_HAPPENING: Final = split_words("when whenever if once after upon unless until")
_KINDS: Final = {
    "mail": "mail",
    "email": "mail",
    "e-mail": "mail",
    "subject": "mail",
    "message": "message",
    "notification": "message",
    "file": "file",
    "title": "any",
    "report": "any",
    "summary": "any",
}


def find_titles(text: str) -> tuple[dict[str, str], list[tuple[int, int]]]:
    """What things are to be called, by kind, and where it stands."""
    made: dict[str, str] = {}
    places: list[tuple[int, int]] = []
    for pattern in (_CALLED, _WITH, _SUBJECT):
        for found in pattern.finditer(text):
            kind = _KINDS.get(found["noun"].lower(), "page")
            title, end = _title(found)
            if not title or kind in made or _is_in(found.end("noun"), places):
                continue
            if not _is_made(text[: found.start()]):
                continue
            made[kind] = title
            begin = found.end("noun") if pattern is _CALLED else found.start()
            places.append((begin, end))
    return made, places


def _is_made(before: str) -> bool:
    """Whether what has the name is written, and does not happen or is read."""
    words = re.split(r"[,.;\n]", before)[-1].lower().split()
    if _HAPPENING & set(words):
        return False
    verbs = [one for one in words if one in VERBS]
    return not verbs or verbs[-1] not in READ


def _title(found: re.Match[str]) -> tuple[str, int]:
    groups = [name for name in found.groupdict() if name != "noun" and found[name]]
    name = groups[0]
    if not name.endswith("d"):
        return found[name].strip(), found.end()
    kept: list[str] = []
    for word in found[name].split(" "):
        if kept and word.lower() in _ENDS and not word[:1].isupper():
            break
        kept.append(word)
    title = " ".join(kept)
    return title, found.start(name) + len(title)


def _is_in(place: int, spans: list[tuple[int, int]]) -> bool:
    return any(start <= place < end for start, end in spans)
