"""A certificate authority that enforces the rules of ACME (RFC 8555, RFC 8737).

Every request must be a signed JWS with a nonce that was issued and not used yet. Control of a name
is checked by connecting to this machine, as if its DNS said so. A CSR must name exactly what was
ordered. It listens with TLS, like a real authority.
"""

from __future__ import annotations

import base64
import hashlib
import http.client
import http.server
import json
import secrets
import socket
import ssl
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from acme import jws
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from josepy.b64 import b64decode, b64encode
from josepy.errors import Error as JoseError
from josepy.jwa import ES256, RS256
from josepy.jwk import JWK

from tests.kit.certificates import server_side, signed_by_private_ca

_ERROR: Final = "urn:ietf:params:acme:error:"
_ACME_IDENTIFIER: Final = x509.ObjectIdentifier("1.3.6.1.5.5.7.1.31")
_LIMIT_SECONDS: Final = 5.0
_KINDS: Final = ("http-01", "dns-01", "tls-alpn-01")


class AcmeRefusal(Exception):
    """A problem document."""

    def __init__(self, code: str, detail: str, status: int = 400, retry_after: int = 0) -> None:
        super().__init__(detail)
        self.code = code
        self.status = status
        self.retry_after = retry_after

    @property
    def document(self) -> dict[str, Any]:
        return {"type": _ERROR + self.code, "detail": str(self), "status": self.status}


@dataclass
class _Authorization:
    name: str
    status: str = "pending"
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    # The state of each challenge.
    challenges: dict[str, str] = field(default_factory=lambda: dict.fromkeys(_KINDS, "pending"))
    error: dict[str, Any] | None = None


@dataclass
class _Order:
    account: str
    names: tuple[str, ...]
    authorizations: tuple[str, ...]
    certificate: str = ""


class AcmeAuthority:
    """The state of the authority, and the knobs of a test."""

    def __init__(self, folder: Path, http_port: int, tls_port: int) -> None:
        self.http_port = http_port
        self.tls_port = tls_port
        self.lifetime = timedelta(days=90)
        # Further requests whose nonce is refused although it is valid, and further new orders that
        # are over the rate limit.
        self.refused_nonces = 0
        self.rate_limited = 0
        # Names that the authority issued a certificate for, in order.
        self.issued: list[tuple[str, ...]] = []
        self.accounts: dict[str, dict[str, Any]] = {}
        self.validations = 0
        self._nonces: set[str] = set()
        self._keys: dict[str, JWK] = {}
        self._orders: dict[str, _Order] = {}
        self._authorizations: dict[str, _Authorization] = {}
        self._lock = threading.RLock()
        self._root_key = ec.generate_private_key(ec.SECP256R1())
        self._root = self._make_root()
        self.ca_file, served = signed_by_private_ca(folder, "localhost")
        self._server = _Server(self)
        self._server.socket = server_side(served).wrap_socket(self._server.socket, server_side=True)
        self.address = f"https://localhost:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    @property
    def directory_url(self) -> str:
        return f"{self.address}/directory"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def trust_issued(self) -> ssl.SSLContext:
        """A client that trusts the certificates that this authority issues."""
        pem = self._root.public_bytes(serialization.Encoding.PEM).decode()
        return ssl.create_default_context(cadata=pem)

    # Requests.

    def make_nonce(self) -> str:
        with self._lock:
            nonce = secrets.token_urlsafe(16)
            self._nonces.add(nonce)
            return nonce

    def directory(self) -> dict[str, Any]:
        names = {"newNonce": "nonce", "newAccount": "account", "newOrder": "order"}
        found: dict[str, Any] = {name: f"{self.address}/{path}" for name, path in names.items()}
        return {**found, "meta": {"termsOfService": f"{self.address}/terms"}}

    def handle(self, path: str, body: bytes) -> tuple[int, Any, dict[str, str]]:
        """The status, the answer and the headers of a signed request."""
        with self._lock:
            payload, key, account = self._verify(path, body)
            kind, _, name = path.strip("/").partition("/")
            match kind:
                case "account":
                    return self._open_account(payload, key)
                case "order" if not name:
                    return self._order(payload, account)
                case "order":
                    return 200, self._show_order(self._own(name, account), name), {}
                case "authorization":
                    return 200, self._show_authorization(name), {}
                case "challenge":
                    return self._answer(name, payload, key)
                case "finalize":
                    return self._finalize(name, payload, account, key)
                case "certificate":
                    order = self._own(name, account)
                    if payload is not None or not order.certificate:
                        raise AcmeRefusal("malformed", "There is no certificate yet.")
                    return 200, order.certificate, {"Content-Type": "application/pem-certificate"}
        raise AcmeRefusal("malformed", "There is no such resource.", 404)

    def _verify(self, path: str, body: bytes) -> tuple[Any, JWK, str]:
        try:
            signed = jws.JWS.json_loads(body.decode())
            header = signed.signature.combined
        except (ValueError, JoseError) as error:
            raise AcmeRefusal("malformed", "The body is no JWS.") from error
        nonce = b64encode(header.nonce or b"").decode()
        if nonce not in self._nonces:
            raise AcmeRefusal("badNonce", "The nonce was not issued, or was used before.")
        self._nonces.discard(nonce)
        if self.refused_nonces:
            self.refused_nonces -= 1
            raise AcmeRefusal("badNonce", "The nonce has expired.")
        if header.url != self.address + path:
            raise AcmeRefusal("unauthorized", "The signed URL is another one.", 401)
        if header.alg not in (ES256, RS256):
            raise AcmeRefusal("badSignatureAlgorithm", "Use ES256 or RS256.")
        account = header.kid or ""
        if (header.jwk is None) == (not account) or bool(account) == (path == "/account"):
            raise AcmeRefusal("malformed", "A new account is signed by jwk, all else by kid.")
        key = self._keys.get(account) if account else header.jwk
        if key is None:
            raise AcmeRefusal("accountDoesNotExist", "There is no such account.")
        if not signed.verify(key=key.public_key()):
            raise AcmeRefusal("unauthorized", "The signature is wrong.", 401)
        return (json.loads(signed.payload) if signed.payload else None), key, account

    def _open_account(self, payload: dict[str, Any], key: JWK) -> tuple[int, Any, dict[str, str]]:
        thumbprint = base64.urlsafe_b64encode(key.thumbprint()).decode().rstrip("=")
        url = f"{self.address}/account/{thumbprint}"
        if url in self.accounts:
            return 200, self.accounts[url], {"Location": url}
        if payload.get("onlyReturnExisting"):
            raise AcmeRefusal("accountDoesNotExist", "There is no account with this key.")
        if payload.get("termsOfServiceAgreed") is not True:
            raise AcmeRefusal("userActionRequired", "Agree to the terms of service.", 403)
        self._keys[url] = key
        self.accounts[url] = {"status": "valid", "contact": payload.get("contact", [])}
        return 201, self.accounts[url], {"Location": url}

    def _order(self, payload: dict[str, Any], account: str) -> tuple[int, Any, dict[str, str]]:
        if self.rate_limited:
            self.rate_limited -= 1
            raise AcmeRefusal("rateLimited", "Too many new orders recently.", 429, 7_200)
        identifiers = payload.get("identifiers") or []
        if not identifiers or any(one.get("type") != "dns" for one in identifiers):
            raise AcmeRefusal("unsupportedIdentifier", "Only names are certified.")
        names = tuple(one["value"] for one in identifiers)
        if any(name.endswith(".invalid") for name in names):
            raise AcmeRefusal("rejectedIdentifier", "The name ends in a reserved domain.")
        made = {secrets.token_hex(8): _Authorization(name) for name in names}
        self._authorizations |= made
        name = secrets.token_hex(8)
        self._orders[name] = _Order(account, names, tuple(made))
        where = {"Location": f"{self.address}/order/{name}"}
        return 201, self._show_order(self._orders[name], name), where

    def _own(self, name: str, account: str) -> _Order:
        order = self._orders.get(name)
        if order is None or order.account != account:
            raise AcmeRefusal("unauthorized", "The order is not that of this account.", 403)
        return order

    def _status(self, order: _Order) -> str:
        found = {self._authorizations[one].status for one in order.authorizations}
        if order.certificate:
            return "valid"
        if "invalid" in found:
            return "invalid"
        return "ready" if found == {"valid"} else "pending"

    def _show_order(self, order: _Order, name: str) -> dict[str, Any]:
        shown = {
            "status": self._status(order),
            "expires": f"{datetime.now(UTC) + timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}",
            "identifiers": [{"type": "dns", "value": one} for one in order.names],
            "authorizations": [
                f"{self.address}/authorization/{one}" for one in order.authorizations
            ],
            "finalize": f"{self.address}/finalize/{name}",
        }
        if order.certificate:
            shown["certificate"] = f"{self.address}/certificate/{name}"
        return shown

    def _show_authorization(self, name: str) -> dict[str, Any]:
        found = self._authorizations[name]
        return {
            "status": found.status,
            "identifier": {"type": "dns", "value": found.name},
            "challenges": [self._show_challenge(name, kind) for kind in _KINDS],
        }

    def _show_challenge(self, name: str, kind: str) -> dict[str, Any]:
        found = self._authorizations[name]
        shown: dict[str, Any] = {
            "type": kind,
            "url": f"{self.address}/challenge/{name}/{kind}",
            "status": found.challenges[kind],
            "token": found.token,
        }
        if found.error is not None and found.challenges[kind] == "invalid":
            shown["error"] = found.error
        return shown

    def _answer(self, path: str, payload: Any, key: JWK) -> tuple[int, Any, dict[str, str]]:
        name, _, kind = path.partition("/")
        found = self._authorizations[name]
        up = {"Link": f'<{self.address}/authorization/{name}>;rel="up"'}
        if payload is not None and found.challenges[kind] == "pending":
            found.challenges[kind] = "processing"
            thumbprint = base64.urlsafe_b64encode(key.thumbprint()).decode().rstrip("=")
            expected = f"{found.token}.{thumbprint}"
            threading.Thread(target=self._validate, args=(found, kind, expected)).start()
        return 200, self._show_challenge(name, kind), up

    def _finalize(
        self, name: str, payload: dict[str, Any], account: str, key: JWK
    ) -> tuple[int, Any, dict[str, str]]:
        order = self._own(name, account)
        if self._status(order) != "ready":
            raise AcmeRefusal("orderNotReady", f"It is {self._status(order)}.", 403)
        csr = x509.load_der_x509_csr(b64decode(payload["csr"]))
        names = csr.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        if not csr.is_signature_valid:
            raise AcmeRefusal("badCSR", "The signature is wrong.")
        if set(names.get_values_for_type(x509.DNSName)) != set(order.names):
            raise AcmeRefusal("badCSR", "It does not name exactly what was ordered.")
        if key.key.public_key() == csr.public_key() or key.key == csr.public_key():
            raise AcmeRefusal("badCSR", "The key of the account certifies no name.")
        order.certificate = self._issue(csr, order.names)
        self.issued.append(order.names)
        where = {"Location": f"{self.address}/order/{name}"}
        return 200, self._show_order(order, name), where

    # Validation.

    def _validate(self, found: _Authorization, kind: str, expected: str) -> None:
        try:
            check = self._check_http if kind == "http-01" else self._check_tls
            check(found, expected)
            status, error = "valid", None
        except AcmeRefusal as refusal:
            status, error = "invalid", refusal.document
        except OSError as problem:
            failed = AcmeRefusal("connection", f"{found.name}: {type(problem).__name__}")
            status, error = "invalid", failed.document
        with self._lock:
            self.validations += 1
            found.challenges[kind], found.error, found.status = status, error, status

    def _check_http(self, found: _Authorization, expected: str) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.http_port, timeout=_LIMIT_SECONDS)
        try:
            path = f"/.well-known/acme-challenge/{found.token}"
            connection.request("GET", path, headers={"Host": found.name})
            answer = connection.getresponse()
            text = answer.read().decode().rstrip()
        finally:
            connection.close()
        if answer.status != 200 or text != expected:
            raise AcmeRefusal("unauthorized", f"{found.name} answers {answer.status}: {text[:80]}")

    def _check_tls(self, found: _Authorization, expected: str) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.set_alpn_protocols(["acme-tls/1"])
        with (
            socket.create_connection(("127.0.0.1", self.tls_port), _LIMIT_SECONDS) as raw,
            context.wrap_socket(raw, server_hostname=found.name) as secure,
        ):
            chosen, der = secure.selected_alpn_protocol(), secure.getpeercert(binary_form=True)
        assert der is not None
        if chosen != "acme-tls/1":
            raise AcmeRefusal("unauthorized", "The server does not speak acme-tls/1.")
        certificate = x509.load_der_x509_certificate(der)
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        if names.get_values_for_type(x509.DNSName) != [found.name] or len(list(names)) != 1:
            raise AcmeRefusal("unauthorized", "The certificate must have exactly the one name.")
        try:
            proof = certificate.extensions.get_extension_for_oid(_ACME_IDENTIFIER)
        except x509.ExtensionNotFound:
            raise AcmeRefusal("unauthorized", "The certificate has no acmeIdentifier.") from None
        digest = hashlib.sha256(expected.encode()).digest()
        assert isinstance(proof.value, x509.UnrecognizedExtension)
        if not proof.critical or proof.value.value != b"\x04\x20" + digest:
            raise AcmeRefusal("unauthorized", "The acmeIdentifier is wrong or not critical.")

    # Certificates.

    def _make_root(self) -> x509.Certificate:
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Example Root")])
        return (
            self._build(name, self._root_key.public_key(), timedelta(days=3_650), name)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .sign(self._root_key, hashes.SHA256())
        )

    def _issue(self, csr: x509.CertificateSigningRequest, names: tuple[str, ...]) -> str:
        certificate = (
            self._build(x509.Name([]), csr.public_key(), self.lifetime, self._root.subject)
            .add_extension(
                x509.SubjectAlternativeName([x509.DNSName(name) for name in names]), critical=True
            )
            .sign(self._root_key, hashes.SHA256())
        )
        pem = [one.public_bytes(serialization.Encoding.PEM) for one in (certificate, self._root)]
        return b"".join(pem).decode()

    def _build(
        self, subject: x509.Name, key: Any, lifetime: timedelta, issuer: x509.Name
    ) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(seconds=1))
            .not_valid_after(now + lifetime)
        )


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = False
    block_on_close = True

    def __init__(self, authority: AcmeAuthority) -> None:
        self.authority = authority
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(http.server.BaseHTTPRequestHandler):
    server: _Server

    def do_HEAD(self) -> None:
        self._send(200 if self.path == "/nonce" else 404, None, {})

    def do_GET(self) -> None:
        if self.path != "/directory":
            refusal = AcmeRefusal("malformed", "Only POST-as-GET reads this.", 405)
            self._send(refusal.status, refusal.document, {})
            return
        self._send(200, self.server.authority.directory(), {})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            if self.headers["Content-Type"] != "application/jose+json":
                raise AcmeRefusal("malformed", "Send application/jose+json.", 415)
            self._send(*self.server.authority.handle(self.path, body))
        except AcmeRefusal as refusal:
            headers = {"Content-Type": "application/problem+json"}
            if refusal.retry_after:
                headers["Retry-After"] = str(refusal.retry_after)
            self._send(refusal.status, refusal.document, headers)

    def _send(self, status: int, answer: Any, headers: dict[str, str]) -> None:
        text = answer if isinstance(answer, str) else json.dumps(answer)
        body = b"" if answer is None else text.encode()
        self.send_response(status)
        self.send_header("Replay-Nonce", self.server.authority.make_nonce())
        for name, value in ({"Content-Type": "application/json"} | headers).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Requests are not logged."""
