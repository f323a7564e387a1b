"""One tree of errors, one mapping to a problem document.

The class says who can act and whether trying again can help; every surface shows the
same object.

    Problem
    ├── Invalid 422               the caller sent something that cannot be right
    │   ├── TooLarge 413          more of it than is taken
    │   └── Unsupported 415       in a format that is not read here
    ├── Unauthenticated 401       the caller is unknown
    ├── PermissionDenied 403      the caller is known and may not
    │   ├── PersonRequired 403    only a person can do this
    │   └── ReconnectRequired 403 a connection needs to be connected again
    ├── NotFound 404              it does not exist
    ├── Conflict 409              the thing exists, in a state that does not allow this
    │   └── ConsentRequired 409   a person has to agree first
    ├── Expired 410               it was possible once; the time for it has passed
    ├── LimitExceeded 429         a rate or a limit is used up
    │   └── BudgetExceeded 429    the money set for this is spent
    ├── UpstreamError 502         another system did not do its part
    │   └── DeadlineExceeded 504  the work took longer than it was given
    ├── StorageFull 507           there is no space left to write to
    └── InternalError 500         a defect of this program
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

_LONGEST = 1_000
# Errors of the system when a disk or a quota is full.
NO_SPACE: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem with its location: a JSON pointer, a sentence, a remedy."""

    pointer: str
    detail: str
    code: str
    suggestion: str | None = None

    def __post_init__(self) -> None:
        # A sentence may quote a very long name.
        if len(self.detail) > _LONGEST:
            object.__setattr__(self, "detail", self.detail[:_LONGEST] + " …")

    def as_dict(self) -> dict[str, str]:
        shown = {"pointer": self.pointer, "detail": self.detail, "code": self.code}
        if self.suggestion is not None:
            shown["suggestion"] = self.suggestion
        return shown


def _make_storable(text: str) -> str:
    """A sentence may quote foreign text; characters that cannot be stored are replaced."""
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()


class Problem(Exception):
    """An error with everything that a person or a program needs to act on it."""

    status: ClassVar[int] = 500
    title: ClassVar[str] = "Something went wrong"
    kind: ClassVar[str] = "problem"
    # Whether another attempt may succeed.
    retryable: bool = False
    # Whether it is certain that nothing was sent; None when unknown.
    unsent: bool | None = None

    def __init__(
        self,
        detail: str,
        *,
        code: str | None = None,
        findings: Iterable[Finding] = (),
        suggestion: str | None = None,
        retry_after: float | None = None,
        retryable: bool | None = None,
        unsent: bool | None = None,
    ) -> None:
        detail = _make_storable(detail)
        super().__init__(detail)
        self.detail = detail
        self.code = code or self.kind
        self.findings = tuple(findings)
        self.suggestion = suggestion
        self.retry_after = retry_after
        if retryable is not None:
            self.retryable = retryable
        if unsent is not None:
            self.unsent = unsent

    def as_dict(self) -> dict[str, Any]:
        """The RFC 9457 problem document, used by the run record and every interface."""
        shown: dict[str, Any] = {
            "type": f"urn:mainspring:problem:{self.kind}",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
            "code": self.code,
        }
        if self.suggestion is not None:
            shown["suggestion"] = self.suggestion
        if self.retry_after is not None:
            shown["retry_after"] = self.retry_after
        if self.findings:
            shown["errors"] = [finding.as_dict() for finding in self.findings]
        return shown


class Invalid(Problem):
    """What was sent cannot be right."""

    status, title, kind = 422, "Invalid input", "invalid"


class TooLarge(Invalid):
    """What was sent is larger than what is taken."""

    status, title, kind = 413, "Too large", "too_large"


class Unsupported(Invalid):
    """What was sent is in a format that is not read here."""

    status, title, kind = 415, "Unsupported format", "unsupported"


class Unauthenticated(Problem):
    """The caller is unknown."""

    status, title, kind = 401, "Authentication required", "unauthenticated"


class PermissionDenied(Problem):
    """The caller is known and may not do this."""

    status, title, kind = 403, "Not allowed", "denied"


def in_workspace(url: str, workspace: tuple[Any, str] | None) -> str:
    """The URL of a page with its workspace."""
    if workspace is None:
        return url
    return f"{url}{'&' if '?' in url else '?'}workspace={workspace[0]}"


class PersonRequired(PermissionDenied):
    """Only a person can do this; ``url`` is the page where they do it, or a command does."""

    title, kind = "A person must do this", "person_needed"

    def __init__(self, detail: str, *, url: str = "", command: str = "", **more: Any) -> None:
        super().__init__(detail, **more)
        self._command = command
        self.url = ""
        if url:
            self._set_url(url)

    def locate(self, address: str) -> None:
        """Make the path of the page an absolute URL of the server."""
        if self.url.startswith("/"):
            self._set_url(address.rstrip("/") + self.url)

    def name_workspace(self, workspace: tuple[Any, str] | None) -> None:
        """Name the workspace, by id and name, in which a member of several has to answer."""
        if workspace is not None and self.url and "workspace=" not in self.url:
            self.detail = f"In the workspace {workspace[1][:60]!r}: {self.detail}"
            self._set_url(in_workspace(self.url, workspace))

    def _set_url(self, url: str) -> None:
        self.url = url
        typed = f", or with `{self._command}` at a terminal" if self._command else ""
        self.suggestion = f"A person can do this at {url}{typed}."

    def as_dict(self) -> dict[str, Any]:
        return {**super().as_dict(), **({"url": self.url} if self.url else {})}


class ReconnectRequired(PermissionDenied):
    """A connection is not let in any more, until a person connects it again.

    Nothing has left: whoever was asked has refused to listen.
    """

    title, kind = "Reconnect the account", "reconnect_needed"
    unsent = True


class NotFound(Problem):
    """There is no such thing here."""

    status, title, kind = 404, "Not found", "missing"


class Conflict(Problem):
    """The thing exists, in a state that does not allow this."""

    status, title, kind = 409, "Conflict with the current state", "clash"


class ConsentRequired(Conflict):
    """A person has to agree first; it carries what to, and where the person answers.

    ``command`` is what a person types at a terminal instead.
    """

    title, kind = "Consent required", "consent_needed"

    def __init__(
        self,
        detail: str,
        *,
        consent: Mapping[str, Any] | None = None,
        command: str = "",
        **more: Any,
    ) -> None:
        super().__init__(detail, **more)
        self.consent = dict(consent or {})
        self._typed = f", or with `{command}` at a terminal" if command else ""
        self._otherwise = self.suggestion
        if command:
            self._say_where("on the page of the automation")

    def locate(self, address: str) -> None:
        """Make the path of the page an absolute URL of the server."""
        path = str(self.consent.get("url", ""))
        if path.startswith("/"):
            self.consent["url"] = address.rstrip("/") + path
            self._say_where(f"at {self.consent['url']}")

    def _say_where(self, where: str) -> None:
        said = [f"A person reviews and answers it {where}{self._typed}.", self._otherwise]
        self.suggestion = " ".join(filter(None, said))

    def as_dict(self) -> dict[str, Any]:
        return {**super().as_dict(), **({"consent": dict(self.consent)} if self.consent else {})}


class Expired(Problem):
    """It was possible once; the time for it has passed."""

    status, title, kind = 410, "Too late", "expired"


class LimitExceeded(Problem):
    """A rate or a limit is used up; it may be there again later."""

    status, title, kind = 429, "Limit exceeded", "exhausted"
    retryable = True


class BudgetExceeded(LimitExceeded):
    """The money set for this is spent."""

    title, kind = "Budget exceeded", "over_budget"
    retryable = False


class UpstreamError(Problem):
    """Another system did not do its part."""

    status, title, kind = 502, "An external service failed", "upstream"
    retryable = True


class DeadlineExceeded(UpstreamError):
    """The work took longer than it was given."""

    status, title, kind = 504, "Timed out", "timed_out"


class StorageFull(Problem):
    """There is no space left to write to."""

    status, title, kind = 507, "No disk space left", "storage_full"
    retryable = True


class InternalError(Problem):
    """We made a mistake."""

    status, title, kind = 500, "Internal error", "fault"
    retryable = True


def as_problem(error: BaseException) -> Problem:
    """Convert a foreign exception to a problem without its text.

    An exception's message may quote paths, SQL or secrets, and its class reveals implementation
    details, so neither is included.
    """
    if isinstance(error, Problem):
        return error
    if isinstance(error, TimeoutError):
        return DeadlineExceeded("The operation timed out.")
    if isinstance(error, OSError) and error.errno in NO_SPACE:
        return storage_full_error()
    return InternalError("The operation failed with an unexpected error.")


def storage_full_error() -> StorageFull:
    """The error of every interface when a write fails for lack of space."""
    return StorageFull(
        "The server has no disk space left and cannot write.",
        suggestion=(
            "Free some space on the disk of the database and the data folder, then try again; no "
            "restart is needed."
        ),
        retry_after=30.0,
    )


def describe_for_log(error: BaseException) -> str:
    """The loggable text of an error: a foreign one is only named by its class."""
    if isinstance(error, (Problem, TimeoutError)):
        return as_problem(error).detail
    return f"The operation failed with an unexpected error ({type(error).__name__})."


def problem_from_dict(shown: Mapping[str, Any]) -> Problem:
    """Read a recorded problem; an unknown kind becomes an ``InternalError``."""
    kind = str(shown.get("type", "")).rpartition(":")[2]
    made = KINDS.get(kind, InternalError)
    return made(
        str(shown.get("detail", "")),
        code=shown.get("code"),
        suggestion=shown.get("suggestion"),
        retry_after=shown.get("retry_after"),
        findings=[Finding(**entry) for entry in shown.get("errors", ())],
    )


KINDS: Mapping[str, type[Problem]] = {
    made.kind: made
    for made in (
        Invalid,
        TooLarge,
        Unsupported,
        Unauthenticated,
        PermissionDenied,
        PersonRequired,
        ReconnectRequired,
        NotFound,
        Conflict,
        ConsentRequired,
        Expired,
        LimitExceeded,
        BudgetExceeded,
        UpstreamError,
        DeadlineExceeded,
        StorageFull,
        InternalError,
    )
}
