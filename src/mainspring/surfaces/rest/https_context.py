"""TLS contexts: of the certificate in use, of a temporary one, and of a challenge.

A connection keeps the context with which it began, so a new certificate drops no connection.
"""

from __future__ import annotations

import asyncio
import hashlib
import socket
import ssl
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_ACME_TLS: Final = "acme-tls/1"
# id-pe-acmeIdentifier (RFC 8737, section 6.1).
_ACME_IDENTIFIER: Final = x509.ObjectIdentifier("1.3.6.1.5.5.7.1.31")
_TEMPORARY_DAYS: Final = 30
_HELLO_SECONDS: Final = 9.0
_HELLO_BYTES: Final = 16_384 + 5
_HANDSHAKE: Final = 0x16


def make_context(key: str, chain: str) -> ssl.SSLContext:
    """The context of a server with this certificate."""
    context = _make_context(key, chain)
    context.set_alpn_protocols(["http/1.1"])
    return context


def make_temporary_context(names: tuple[str, ...]) -> ssl.SSLContext:
    """A certificate of our own, until the authority has issued one."""
    return make_context(*_self_sign(names, ()))


def make_challenge_context(name: str, key_authorization: str) -> ssl.SSLContext:
    """The certificate that answers a tls-alpn-01 challenge (RFC 8737, section 3)."""
    digest = hashlib.sha256(key_authorization.encode()).digest()
    proof = x509.UnrecognizedExtension(_ACME_IDENTIFIER, b"\x04\x20" + digest)
    context = _make_context(*_self_sign((name,), (proof,)))
    context.set_alpn_protocols([_ACME_TLS])
    return context


def _make_context(key: str, chain: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # The ssl module reads a certificate from a file only; the folder is this user's own.
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "certificate.pem"
        path.touch(mode=0o600)
        path.write_text(key + chain, encoding="utf-8")
        context.load_cert_chain(path)
    return context


def _self_sign(
    names: tuple[str, ...], proofs: tuple[x509.UnrecognizedExtension, ...]
) -> tuple[str, str]:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0][:64])])
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=_TEMPORARY_DAYS))
        .add_extension(
            x509.SubjectAlternativeName([x509.DNSName(name) for name in names]), critical=False
        )
    )
    for proof in proofs:
        builder = builder.add_extension(proof, critical=True)
    certificate = builder.sign(key, hashes.SHA256())
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return pem.decode(), certificate.public_bytes(serialization.Encoding.PEM).decode()


async def find_challenged_name(accepted: socket.socket) -> str | None:
    """The server name of a certificate authority that validates; None for any other client.

    The ssl module chooses a certificate before it has read which protocols a client offers, so the
    first message is looked at here and left in the socket. This is only done during a challenge.
    """
    try:
        async with asyncio.timeout(_HELLO_SECONDS):
            hello = await _peek_hello(accepted)
    except (TimeoutError, OSError):
        return None
    protocols, name = _read_hello(hello)
    return name if protocols == [_ACME_TLS] else None


async def _peek_hello(accepted: socket.socket) -> bytes:
    """The first TLS record, which remains to be read."""
    loop = asyncio.get_running_loop()
    seen = b""
    while True:
        arrived = loop.create_future()
        loop.add_reader(accepted.fileno(), _resolve, arrived)
        try:
            await arrived
        finally:
            loop.remove_reader(accepted.fileno())
        data = accepted.recv(_HELLO_BYTES, socket.MSG_PEEK)
        if not data or data[0] != _HANDSHAKE:
            return b""
        if len(data) >= 5 and len(data) >= 5 + int.from_bytes(data[3:5]):
            return data
        if data == seen:
            # The socket stays readable while part of the record is missing.
            await asyncio.sleep(_PAUSE_SECONDS)
        seen = data


_PAUSE_SECONDS: Final = 0.02


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


class _Reader:
    """Reads length-prefixed fields; past the end everything is empty."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __bool__(self) -> bool:
        return bool(self._data)

    def take(self, size: int) -> bytes:
        taken, self._data = self._data[:size], self._data[size:]
        return taken

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size))

    def field(self, size: int) -> _Reader:
        """The field behind a length of so many bytes."""
        return _Reader(self.take(self.number(size)))


def _read_hello(record: bytes) -> tuple[list[str], str | None]:
    """The protocols and the server name of a ClientHello (RFC 8446, section 4.1.2)."""
    reader = _Reader(record)
    reader.take(5 + 4 + 2 + 32)  # record, handshake, version, random
    reader.field(1)  # session id
    reader.field(2)  # cipher suites
    reader.field(1)  # compression methods
    extensions = reader.field(2)
    protocols: list[str] = []
    name = None
    while extensions:
        kind = extensions.number(2)
        content = extensions.field(2)
        if kind == 0:
            entry = content.field(2)
            entry.take(1)
            name = entry.field(2).take(255).decode("ascii", "replace").lower()
        elif kind == 16:
            offered = content.field(2)
            while offered:
                protocols.append(offered.field(1).take(255).decode("ascii", "replace"))
    return protocols, name
