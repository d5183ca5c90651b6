"""Opens connections over TLS, each for one request, and says how it went, as load.lua does.

handshakes.py PORT TOKEN SECONDS VERSION [--resumed]

Prints "requests failures seconds p50_µs p99_µs": from connecting to the response's last byte, one connection after the
other. VERSION is 1.2 or 1.3. With --resumed each connection after the first resumes the session of the one before, and
one that does not counts as failed; without it, each makes a full handshake.
"""

import argparse
import socket
import ssl
import sys
import time

from connections import finish


def context(version: str) -> ssl.SSLContext:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname = False
    made.verify_mode = ssl.CERT_NONE  # a certificate made for this run, on loopback
    made.set_alpn_protocols(["http/1.1"])
    made.minimum_version = made.maximum_version = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}[version]
    return made


def request_of(token: str) -> bytes:
    return (
        f"GET /api/items HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
    ).encode()


def connect(port: int) -> socket.socket:
    plain = socket.create_connection(("127.0.0.1", port), timeout=10)
    # Else the request waits for the acknowledgement of the handshake's last bytes.
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return plain


def exchange(
    tls: ssl.SSLContext, port: int, request: bytes, session: ssl.SSLSession | None
) -> tuple[bool, ssl.SSLSession | None]:
    """Whether the session was resumed, and the one for the next connection."""
    with (
        connect(port) as plain,
        tls.wrap_socket(plain, server_hostname="localhost", session=session, suppress_ragged_eofs=True) as connection,
    ):
        connection.sendall(request)
        finish(connection)
        return bool(connection.session_reused), connection.session


def main() -> None:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("token")
    parser.add_argument("seconds", type=float)
    parser.add_argument("version", choices=["1.2", "1.3"])
    parser.add_argument("--resumed", action="store_true")
    options = parser.parse_args()
    tls, request = context(options.version), request_of(options.token)
    session = None
    if options.resumed:
        _, session = exchange(tls, options.port, request, None)
    times: list[float] = []
    failures = 0
    began = time.monotonic()
    while (start := time.monotonic()) - began < options.seconds:
        try:
            resumed, newest = exchange(tls, options.port, request, session)
        except OSError as error:
            print(f"a connection failed: {error}", file=sys.stderr)
            failures += 1
            continue
        times.append((time.monotonic() - start) * 1e6)
        failures += resumed != options.resumed
        if options.resumed:
            session = newest
    times.sort()
    middle, high = (times[int(len(times) * share)] if times else 0 for share in (0.5, 0.99))
    print(len(times), failures, f"{time.monotonic() - began:.3f}", int(middle), int(high))


if __name__ == "__main__":
    main()
