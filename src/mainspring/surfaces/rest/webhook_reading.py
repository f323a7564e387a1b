"""Reads the body of a webhook request, authenticates what is signed, and builds its payload.

JSON, forms and text are parsed in memory. Files are streamed to the artifact store when the caller
is authenticated by its headers; a signed body is verified as a whole before any of it is stored.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

from mainspring.contracts.errors import DeadlineExceeded, Problem, TooLarge
from mainspring.surfaces.rest.multipart_bodies import (
    MultipartBody,
    UploadedFile,
    UploadLimits,
    check_declared_length,
    clean_media_type,
    is_multipart,
    read_file,
    read_multipart,
)
from mainspring.surfaces.rest.request_bodies import LARGE, check_content_type, read_bytes
from mainspring.surfaces.services import ApplicationServices
from mainspring.triggers.webhook_auth import WebhookRequest, unknown_webhook
from mainspring.triggers.webhook_bodies import (
    ParsedBody,
    build_payload,
    collect_fields,
    decode_raw,
    is_parsed,
    parse_body,
    parse_lenient_json,
    read_query,
    shrink_value,
)
from mainspring.triggers.webhook_signatures import has_auth, read_auth
from mainspring.workspace.artifacts.uploads import Upload, UploadStore

if TYPE_CHECKING:
    from starlette.types import Message

    from mainspring.contracts.limits import Limits
    from mainspring.triggers.webhook_receiver import WebhookReceipt, WebhookReceiver

_WITHOUT_BODY: Final = frozenset({"GET", "OPTIONS"})
# The usual content type; anything else is parsed fully.
_PLAIN: Final = ["application/json"]
# What of a large body is kept in the payload of the run.
_KEPT_OF_LARGE: Final = 0.5


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """An authenticated request with its payload, and the files that were saved for it."""

    request: WebhookRequest
    upload: Upload | None = None


class WebhookBodyReader:
    """Reads the bodies of webhook requests, for one process."""

    def __init__(self, services: ApplicationServices) -> None:
        self._services = services

    @property
    def _receiver(self) -> WebhookReceiver:
        return self._services.webhook_receiver

    @property
    def _uploads(self) -> UploadStore:
        return self._services.uploads

    @property
    def _limits(self) -> Limits:
        return self._services.limits

    @property
    def _upload_limits(self) -> UploadLimits:
        return UploadLimits.of(self._services.limits)

    async def read(
        self,
        request: Request,
        shown: Mapping[bytes, list[str]],
        webhook_request: WebhookRequest,
    ) -> ReadRequest:
        """The request of an authenticated caller with its body, which is validated last."""
        webhook = webhook_request.webhook
        config = {} if webhook is None else webhook.config
        auth, content_type = read_auth(config), request.headers.get("content-type", "")
        if has_auth(config) and not auth.signs_body and not is_parsed(content_type):
            return await self._read_upload(request, webhook_request, content_type)
        with self._receiver.reading(webhook_request) as count:
            raw = await self._read_bytes(request, count, webhook_request, content_type)
            webhook_request = replace(
                webhook_request, raw=raw if auth.signs_body else b"", size=len(raw)
            )
            await self._receiver.admit(webhook_request)
            if not has_auth(config):
                value = await self._read_plain(request, shown, webhook_request, raw)
                return ReadRequest(replace(webhook_request, value=value))
            if raw and not is_parsed(content_type):
                return await self._take_upload(webhook_request, content_type, _once(raw))
            if len(raw) > self._limits.payload_bytes:
                return await self._take_large(webhook_request, content_type, raw)
            if request.method in _WITHOUT_BODY and not raw:
                body = ParsedBody(read_query(webhook_request.url))
            else:
                body = await asyncio.to_thread(parse_body, raw, content_type, self._limits)
            payload = build_payload(webhook_request.as_received(), auth, body)
            if config.get("raw"):
                payload.update(decode_raw(raw))
            return ReadRequest(replace(webhook_request, value=payload))

    async def _read_plain(
        self,
        request: Request,
        shown: Mapping[bytes, list[str]],
        webhook_request: WebhookRequest,
        raw: bytes,
    ) -> Any:
        """The payload of a webhook without ``auth``: its body alone."""
        if request.method in _WITHOUT_BODY and not raw:
            return read_query(webhook_request.url)
        if raw and (shown[b"content-type"] != _PLAIN or shown[b"content-encoding"]):
            check_content_type(request)
        if not raw:
            return {}
        if len(raw) <= LARGE:
            return parse_lenient_json(raw, self._limits)
        return await asyncio.to_thread(parse_lenient_json, raw, self._limits)

    async def _read_bytes(
        self,
        request: Request,
        count: Callable[[int], None],
        webhook_request: WebhookRequest,
        content_type: str,
    ) -> bytes:
        async def counted() -> Message:
            message = await request.receive()
            count(len(message.get("body", b"")))
            return message

        webhook = webhook_request.webhook
        auth = read_auth({} if webhook is None else webhook.config)
        most = self._limits.payload_bytes
        if auth.signs_body and auth.provider is not None:
            if auth.provider.most_bytes is not None:
                most = max(most, auth.provider.most_bytes)
            if not is_parsed(content_type):
                most = max(most, self._limits.artifact_bytes)
        try:
            return await read_bytes(Request(request.scope, counted), most)
        except TooLarge:
            if auth.signs_body:
                self._receiver.count_refusal(webhook_request, "body_too_large")
                # A missing body has no signature.
                raise unknown_webhook() from None
            raise

    async def _read_upload(
        self, request: Request, webhook_request: WebhookRequest, content_type: str
    ) -> ReadRequest:
        """Stream the files of an authenticated caller to the store."""
        check_declared_length(request.headers.get("content-length"), self._upload_limits.body_bytes)
        await self._receiver.admit(webhook_request)
        try:
            return await self._take_upload(webhook_request, content_type, request.stream())
        except TimeoutError:
            raise HTTPException(408, headers={"Connection": "close"}) from None
        except ClientDisconnect:
            raise HTTPException(400, headers={"Connection": "close"}) from None

    async def _take_upload(
        self, webhook_request: WebhookRequest, content_type: str, chunks: AsyncIterator[bytes]
    ) -> ReadRequest:
        webhook = webhook_request.webhook
        assert webhook is not None
        upload = Upload(webhook.workspace_id, webhook.automation_id, webhook_request.run_id)
        with self._begin(upload):
            if is_multipart(content_type):
                body = await read_multipart(
                    chunks, content_type, self._upload_limits, self._saver(upload)
                )
                value: Any = collect_fields(body.fields)
            else:
                body = await read_file(
                    chunks, content_type, self._upload_limits, self._saver(upload)
                )
                value = body.fields[0][1] if body.fields else {}
        return ReadRequest(
            replace(
                webhook_request,
                value=self._build(webhook_request, ParsedBody(value)),
                size=min(body.size, self._limits.payload_bytes),
                identity=_without_ids(value, upload),
            ),
            upload,
        )

    async def _take_large(
        self, webhook_request: WebhookRequest, content_type: str, raw: bytes
    ) -> ReadRequest:
        """A body that is larger than a payload: the run is given the whole body as an artifact."""
        webhook = webhook_request.webhook
        assert webhook is not None
        upload = Upload(webhook.workspace_id, webhook.automation_id, webhook_request.run_id)
        limits = replace(self._limits, json_bytes=max(self._limits.json_bytes, len(raw)))
        most = int(self._limits.payload_bytes * _KEPT_OF_LARGE)
        async with self._receiver.parsing_large:
            body = await asyncio.to_thread(parse_body, raw, content_type, limits)
            kept, cut = await asyncio.to_thread(shrink_value, body.value, most)
        whole = self._build(webhook_request, body)
        with self._begin(upload):
            saved: MultipartBody = await read_file(
                _once(raw),
                clean_media_type(content_type),
                replace(self._upload_limits, file_bytes=len(raw)),
                self._saver(upload),
            )
        note = (
            f"The body has {len(raw):,} bytes. These parts of it were shortened here, and the "
            f"whole body is in the artifact of raw: {', '.join(cut)}"
        )
        payload = self._build(webhook_request, ParsedBody(kept, (*body.notes, note)))
        payload["raw"] = saved.fields[0][1]
        return ReadRequest(
            replace(
                webhook_request,
                value=payload,
                whole=whole,
                size=self._limits.payload_bytes,
                identity=body.value,
            ),
            upload,
        )

    def _build(self, webhook_request: WebhookRequest, body: ParsedBody) -> dict[str, Any]:
        webhook = webhook_request.webhook
        assert webhook is not None
        return build_payload(webhook_request.as_received(), read_auth(webhook.config), body)

    @contextmanager
    def _begin(self, upload: Upload) -> Iterator[None]:
        self._uploads.begin(upload.automation_id)
        try:
            yield
        finally:
            self._uploads.end(upload.automation_id)

    def _saver(self, upload: Upload) -> Callable[[UploadedFile], Any]:
        async def save(file: UploadedFile) -> Any:
            return await self._uploads.save(
                upload, file.name, file.media_type, file.size, file.sha256, file.read
            )

        return save


async def _once(raw: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(raw), LARGE):
        yield raw[start : start + LARGE]


def _without_ids(value: Any, upload: Upload) -> Any:
    """The body without the ids of its artifacts: the same files again are the same request."""
    ids = {str(one.id) for one in upload.artifacts}
    if isinstance(value, list):
        return [_without_ids(one, upload) for one in value]
    if isinstance(value, dict):
        return {
            key: _without_ids(one, upload)
            for key, one in value.items()
            if not (key == "artifact_id" and one in ids)
        }
    return value


async def record_with_files(
    uploads: UploadStore, receiver: WebhookReceiver, read: ReadRequest
) -> WebhookReceipt:
    """Record a request; its files are kept if it started a run of its own."""
    if read.upload is None:
        return await receiver.take(read.request)
    await uploads.keep(read.upload)
    try:
        receipt = await receiver.take(read.request)
    except DeadlineExceeded:
        # It may still be recorded; the files expire like all others.
        raise
    except Problem:
        await uploads.discard(read.upload.artifacts)
        raise
    if receipt.run_id != read.request.run_id:
        await uploads.discard(read.upload.artifacts)
    return receipt
