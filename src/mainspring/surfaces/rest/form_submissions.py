"""Reads the submissions of forms: JSON, or with files a multipart body.

The form, its token and the address of the sender are checked before the body is read. In a
multipart body the part ``submission`` has the JSON, and each file is a part with the name of its
field. The limits of a body follow from the file fields of the form.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request

from mainspring.contracts.errors import Finding, Invalid, TooLarge
from mainspring.contracts.limits import Limits
from mainspring.definition.forms import FileRule
from mainspring.definition.strict_json import join_pointer, read_json
from mainspring.surfaces.rest.multipart_bodies import (
    UploadedFile,
    UploadLimits,
    check_declared_length,
    is_multipart,
    read_multipart,
)
from mainspring.surfaces.rest.request_bodies import Body, read_body
from mainspring.surfaces.rest.validation_messages import finding_of
from mainspring.triggers.form_receiver import OpenForm
from mainspring.workspace.artifacts.uploads import Upload, UploadStore

_SUBMISSION: Final = "submission"
# How content of these media types begins; other types are taken as they are declared.
_SIGNATURES: Final[Mapping[str, tuple[bytes, ...]]] = {
    "application/pdf": (b"%PDF-",),
    "application/zip": (b"PK",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/webp": (b"RIFF",),
}


class Submission(Body):
    """A form that was filled in."""

    values: dict[str, Any]
    # People do not see this field; programs that fill in everything do.
    website: str = ""


@dataclass(frozen=True, slots=True)
class ReadSubmission:
    """A submission and its files."""

    values: dict[str, Any]
    website: str
    upload: Upload


class FormSubmissionReader:
    """Reads submissions, for one process."""

    def __init__(self, uploads: UploadStore, limits: Limits) -> None:
        self._uploads = uploads
        self._limits = limits

    async def read(self, request: Request, form: OpenForm, run_id: UUID) -> ReadSubmission:
        """The submission; its files are stored for the run that it may start."""
        trigger = form.trigger
        upload = Upload(trigger.workspace_id, trigger.automation_id, run_id)
        if form.settings.files and is_multipart(request.headers.get("content-type", "")):
            given, files = await self._read_parts(request, form, upload)
        else:
            given, files = await read_body(request, Submission), {}
        for name in given.values.keys() & form.settings.files.keys():
            raise _wrong(name, "A file is sent as a part of a multipart body.", "form_file")
        # An optional field that was left empty is null in a browser, and missing in the inputs.
        values = {name: value for name, value in given.values.items() if value is not None}
        return ReadSubmission({**values, **files}, given.website, upload)

    async def _read_parts(
        self, request: Request, form: OpenForm, upload: Upload
    ) -> tuple[Submission, dict[str, Any]]:
        rules = form.settings.files
        limits = self._limit(rules)
        check_declared_length(request.headers.get("content-length"), limits.body_bytes)
        seen: set[str] = set()

        async def save(file: UploadedFile) -> Any:
            rule = rules.get(file.field)
            if rule is None:
                raise _wrong(file.field, "This form takes no such file.", "unknown_field")
            if file.field in seen:
                raise _wrong(file.field, "This field takes one file.", "form_file_twice")
            seen.add(file.field)
            _check_file(file, rule)

            def read() -> bytes:
                content = file.read()
                _check_content(file, content)
                return content

            return await self._uploads.save(
                upload, file.name, file.media_type, file.size, file.sha256, read
            )

        self._uploads.begin(form.trigger.id)
        try:
            body = await read_multipart(
                request.stream(), request.headers.get("content-type", ""), limits, save
            )
        except TimeoutError:
            raise HTTPException(408, headers={"Connection": "close"}) from None
        finally:
            self._uploads.end(form.trigger.id)
        texts = [value for name, value in body.fields if name == _SUBMISSION]
        files = {name: value for name, value in body.fields if name in seen}
        if len(texts) != 1 or not isinstance(texts[0], str):
            raise Invalid("The body has no part named submission.", code="form_submission")
        return self._parse(texts[0]), files

    def _limit(self, rules: Mapping[str, FileRule]) -> UploadLimits:
        usual = UploadLimits.of(self._limits)
        # A part has a few headers and a boundary.
        whole = sum(rule.max_bytes + 1_024 for rule in rules.values()) + usual.text_bytes
        return replace(
            usual,
            body_bytes=min(usual.body_bytes, whole),
            file_bytes=min(usual.file_bytes, max(rule.max_bytes for rule in rules.values())),
            parts=len(rules) + 1,
            files=len(rules),
        )

    def _parse(self, text: str) -> Submission:
        value = read_json(text.encode("utf-8", "replace"), self._limits)
        try:
            return Submission.model_validate(value)
        except ValidationError as error:
            findings = [finding_of(one, join_pointer("", *one["loc"])) for one in error.errors()]
            raise Invalid("The submission cannot be read.", findings=findings) from None


def _check_file(file: UploadedFile, rule: FileRule) -> None:
    if file.size > rule.max_bytes:
        detail = f"The file is larger than {rule.max_bytes:,} bytes."
        finding = Finding(join_pointer("", file.field), detail, "body_too_large")
        raise TooLarge(detail, code="body_too_large", findings=[finding])
    if not rule.accepts(file.media_type):
        kinds = ", ".join(rule.types)
        raise _wrong(file.field, f"This field takes files of the types {kinds}.", "form_file_type")


def _check_content(file: UploadedFile, content: bytes) -> None:
    signatures = _SIGNATURES.get(file.media_type)
    if signatures is not None and not content.startswith(signatures):
        raise _wrong(file.field, f"The content of the file is not {file.media_type}.", "form_file")


def _wrong(field: str, detail: str, code: str) -> Invalid:
    return Invalid(
        "Some fields need your attention.",
        code="form_invalid",
        findings=[Finding(join_pointer("", field[:100]), detail, code)],
    )
