"""Redaction: what a record, an answer or an error may show of a secret is its name.

An upstream may return a secret in another spelling: in another case, percent-encoded, escaped or
as a part of base64. All of them are replaced by the name of the secret.
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final
from urllib.parse import quote, quote_plus

from mainspring.contracts.errors import Problem
from mainspring.contracts.secret import SecretRef, SecretText
from mainspring.definition.secret_use import find_script_secrets
from mainspring.definition.strict_json import encode_canonical

SHORTEST = 4
SHORTEST_IN_OTHER_CASE = 8
HIDDEN = "[hidden]"
SENSITIVE_NAMES = frozenset(
    {
        "access-token",
        "api-key",
        "apikey",
        "authorization",
        "client-secret",
        "cookie",
        "cookie2",
        "passwd",
        "password",
        "private-token",
        "proxy-authorization",
        "refresh-token",
        "secret",
        "set-cookie",
        "x-access-token",
        "x-amz-security-token",
        "x-api-key",
        "x-apikey",
        "x-auth-key",
        "x-auth-token",
        "x-csrf-token",
        "x-gitlab-token",
        "x-goog-api-key",
        "x-hub-signature",
        "x-hub-signature-256",
        "x-shopify-access-token",
        "x-vault-token",
        "x-xsrf-token",
    }
)


class Redactor:
    """Masks known values, by name, in text, bytes and JSON trees."""

    def __init__(self, values: Mapping[str, str]) -> None:
        masks: dict[bytes, bytes] = {}
        for name, value in sorted(values.items()):
            if len(value) >= SHORTEST:
                mask = str(SecretRef(name)).encode()
                masks.update(dict.fromkeys(_spellings(value), mask))
        # Longest first: a spelling may contain a shorter one.
        self._masks = sorted(masks.items(), key=lambda entry: -len(entry[0]))

    def data(self, data: bytes) -> bytes:
        for spelling, mask in self._masks:
            data = data.replace(spelling, mask)
        return data

    def text(self, text: str) -> str:
        if not self._masks:
            return text
        masked = self.data(text.encode("utf-8", "surrogatepass"))
        return masked.decode("utf-8", "surrogatepass")

    def tree(self, value: Any) -> Any:
        """A JSON value with every string in it masked, keys included."""
        # Most values hold no secret; one look at all their text is far cheaper than many.
        if not self._masks or not self.found_in("\0".join(_strings(value))):
            return value
        return self._mask(value)

    def _mask(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.text(str(key)): self._mask(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self._mask(inner) for inner in value]
        return value

    def found_in(self, text: str) -> bool:
        """Whether any spelling of any value stands in the text."""
        data = text.encode("utf-8", "surrogatepass")
        return any(spelling in data for spelling, _ in self._masks)


def redact_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A call's arguments as its record may keep them."""
    return {str(name): _mask_value(str(name), value) for name, value in arguments.items()}


# What stands in most arguments, and holds nothing further.
_PLAIN = frozenset({str, int, float, bool})


def is_sensitive(name: str) -> bool:
    """Whether a header, query or field of this name usually holds something secret."""
    return name.strip().lower().replace("_", "-") in SENSITIVE_NAMES


def _strings(value: Any) -> list[str]:
    """Every string of a value, keys included, in no particular order."""
    found: list[str] = []
    rest = [value]
    while rest:
        entry = rest.pop()
        if isinstance(entry, str):
            found.append(entry)
        elif isinstance(entry, (list, tuple)):
            rest.extend(entry)
        elif isinstance(entry, (dict, Mapping)):
            found.extend(map(str, entry))
            rest.extend(entry.values())
    return found


def _mask_value(name: str, value: Any) -> Any:
    if type(value) in _PLAIN:
        return HIDDEN if is_sensitive(name) else value
    if isinstance(value, (SecretText, SecretRef)):
        return str(value)
    if isinstance(value, Mapping):
        return redact_arguments(value)
    if isinstance(value, (list, tuple)):
        return [_mask_value(name, inner) for inner in value]
    return HIDDEN if value is not None and is_sensitive(name) else value


def _spellings(value: str) -> set[bytes]:
    raw = value.encode("utf-8", "surrogatepass")
    once = set(_base64_pieces(raw))
    twice = {piece for inner in once for piece in _base64_pieces(inner)}
    return {
        raw,
        value[::-1].encode("utf-8", "surrogatepass"),
        raw.hex().encode(),
        raw.hex().upper().encode(),
        value.encode("utf-16-le", "surrogatepass"),
        value.encode("utf-16-be", "surrogatepass"),
        html.escape(value).encode("utf-8", "surrogatepass"),
        *_in_json(value),
        *_in_url(raw),
        *_in_escapes(raw),
        *once,
        *twice,
        *_in_other_case(value),
    }


def _in_other_case(value: str) -> Iterator[bytes]:
    if len(value) < SHORTEST_IN_OTHER_CASE:
        return
    # The few spellings that such an echo has; each one is looked for in every answer.
    for changed in {value.upper(), value.lower(), value.casefold()} - {value}:
        raw = changed.encode("utf-8", "surrogatepass")
        yield raw
        if quote(raw, safe="") == changed:
            # It is written the same everywhere.
            continue
        yield html.escape(changed).encode("utf-8", "surrogatepass")
        yield from _in_json(changed)
        yield from _in_url(raw)


def _in_json(value: str) -> Iterator[bytes]:
    for ascii_only in (True, False):
        text = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
        # A JSON text is often a string of another one.
        again = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
        yield text.encode("utf-8", "surrogatepass")
        yield text.replace("/", "\\/").encode("utf-8", "surrogatepass")
        yield again.encode("utf-8", "surrogatepass")


def _in_url(raw: bytes) -> Iterator[bytes]:
    for text in (quote(raw, safe=""), quote(raw, safe="/"), quote_plus(raw)):
        yield text.encode()
        yield _lower_escapes(text).encode()


def _in_escapes(raw: bytes) -> Iterator[bytes]:
    every = "".join(f"%{byte:02X}" for byte in raw)
    yield every.encode()
    yield every.lower().encode()


def _lower_escapes(text: str) -> str:
    head, *rest = text.split("%")
    return head + "".join("%" + piece[:2].lower() + piece[2:] for piece in rest)


def _base64_pieces(raw: bytes) -> Iterable[bytes]:
    """What is certain of a value inside any base64 text, wherever in it the value begins.

    Three bytes become four signs, so there are three ways to begin; the signs at either
    end that also depend on a neighbour are left out.
    """
    for offset, shared in ((0, 0), (1, 2), (2, 3)):
        whole = base64.b64encode(b"\0" * offset + raw)
        certain = (offset + len(raw)) * 8 // 6
        piece = whole[shared:certain]
        if len(piece) >= SHORTEST:
            yield piece
            yield piece.replace(b"+", b"-").replace(b"/", b"_")


# A template may have white space around the dot, which JSON writes in its own way.
_GAP: Final = rb"(?:\s|\\[nrt])*"
_NAMED: Final = re.compile(rb"\bsecrets" + _GAP + rb"\." + _GAP + rb"([A-Za-z0-9_]{1,64})")

# Most calls know no secret at all.
_HIDES_NOTHING: Final = Redactor({})


class RunSecretMasker:
    """The secret values that a run has used, hidden in everything that is stored of the run.

    An upstream may return a secret much later: in the answer to another call, in an error, or in
    what a step makes of it. The values are known as long as a worker executes the run and are
    never written; the next worker reads them from the vault again, by the names in the definition.
    """

    __slots__ = ("_redactor", "_values")

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self._values = dict(values or {})
        self._redactor = Redactor(self._values) if values else _HIDES_NOTHING

    def learn(self, values: Mapping[str, str]) -> None:
        """Add values that were revealed for the run."""
        if values.items() <= self._values.items():
            return
        for name, value in values.items():
            before = self._values.get(name, value)
            if before != value:
                # A value that was replaced during the run was used, too.
                self._values[f"{name} as it was"] = before
            self._values[name] = value
        self._redactor = Redactor(self._values)

    def masked(self, value: Any) -> Any:
        """A JSON value with all of them hidden."""
        return self._redactor.tree(value) if self._values else value

    def hide_in(self, problem: Problem) -> Problem:
        """The same problem with all of them hidden in its texts."""
        if self._values:
            text = self._redactor.text
            problem.detail = text(problem.detail)
            problem.suggestion = problem.suggestion and text(problem.suggestion)
            problem.findings = tuple(
                replace(
                    finding,
                    pointer=text(finding.pointer),
                    detail=text(finding.detail),
                    suggestion=finding.suggestion and text(finding.suggestion),
                )
                for finding in problem.findings
            )
            problem.args = (problem.detail,)
        return problem


def secrets_named_in(document: Mapping[str, Any]) -> frozenset[str]:
    """Every secret that a definition may use: too many rather than too few.

    A template says ``secrets.`` before the name, and a script may leave that out.
    """
    named = frozenset(name.decode() for name in _NAMED.findall(encode_canonical(document)))
    return named | find_script_secrets(document)
