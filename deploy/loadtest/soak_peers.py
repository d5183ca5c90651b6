"""Everything around the gateway that soak.sh has fail: receivers of messages, key sets, a name server, the time of day.

soak_peers.py CONTROL_PORT AUDIT_PORT USERS_PORT NAMES_ADDRESS CLOCK_FILE PORT=KEY_SET… serves until it is told to end.

  AUDIT_PORT, USERS_PORT   receivers of POST; they count the messages that they said 200 to, each key once
  PORT=KEY_SET             a server of this file, whatever the path
  NAMES_ADDRESS            a name server on port 53, or none: backend.test is 127.0.0.1, other names do not exist
  CLOCK_FILE               by how many seconds the gateway's time of day is wrong, as Tests/EndToEnd/harness/interposed.c
                           reads it

Control, by POST to 127.0.0.1:CONTROL_PORT; GET / prints "name count" in lines:

  /audit/MODE, /users/MODE   well, failing (503), slow (up to a second), hanging (no response while it lasts), refusing
                             (no connection)
  /keys/MODE                 the same, for all key sets
  /names/MODE                well, silent
  /clock/SECONDS
"""

import mmap
import pathlib
import socket
import struct
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MODES = ("well", "failing", "slow", "hanging", "refusing")
SLOW_SECONDS = (0.05, 0.3, 1.0)


class QuietServer(ThreadingHTTPServer):
    request_queue_size = 512
    daemon_threads = True
    allow_reuse_address = True

    def handle_error(self, request, client_address) -> None:
        """The gateway has not waited for the response, which is its right."""


class Peer:
    """A server whose mode may change at any time: of one document, or of messages."""

    def __init__(self, port: int, document: bytes = b""):
        self._port = port
        self._document = document
        self._mode = "well"
        self._changed = threading.Condition()
        self._requests = 0
        self.received: set[str] = set()
        self._server: QuietServer | None = None
        self._listen()

    @property
    def mode(self) -> str:
        return self._mode

    @mode.setter
    def mode(self, mode: str) -> None:
        if mode not in MODES:
            raise ValueError(mode)
        with self._changed:
            self._mode = mode
            self._changed.notify_all()
        if mode == "refusing" and self._server:
            self._server.shutdown()
            self._server.server_close()
            self._server = None
        elif mode != "refusing" and not self._server:
            self._listen()

    def _listen(self) -> None:
        peer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 60

            def do_GET(self) -> None:
                peer.respond(self)

            do_POST = do_GET

            def log_message(self, *_) -> None:
                pass

        self._server = QuietServer(("127.0.0.1", self._port), Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def respond(self, request: BaseHTTPRequestHandler) -> None:
        request.rfile.read(int(request.headers["Content-Length"] or 0))
        with self._changed:
            mode = self._mode
            self._requests += 1
            if mode == "slow":
                self._changed.wait(SLOW_SECONDS[self._requests % len(SLOW_SECONDS)])
            elif mode == "hanging":
                self._changed.wait_for(lambda: self._mode != "hanging")
            if mode not in ("hanging", "refusing", "failing") and (key := request.headers["Idempotency-Key"]):
                self.received.add(key)
        if mode in ("hanging", "refusing"):
            request.close_connection = True
            return
        body = b"" if mode == "failing" else self._document
        request.send_response(503 if mode == "failing" else 200)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)


class NameServer:
    """Knows one name, for no time: every response is out of date at once. `mode` is "well" or "silent"."""

    NAME = b"\x07backend\x04test\x00"
    NO_SUCH_NAME, ADDRESS = 3, 1

    def __init__(self, address: str):
        self.mode = "well"
        self.questions = 0
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((address, 53))
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            message, client = self._socket.recvfrom(4096)
            self.questions += 1
            if self.mode == "well":
                self._socket.sendto(self._response(message), client)

    def _response(self, message: bytes) -> bytes:
        """RFC 1035, 4.1: the question comes back; its name ends with a label of no length, before type and class."""
        end = message.index(b"\0", 12) + 5
        question = message[12:end]
        known = question[:-4].lower() == self.NAME
        answers = b""
        if known and struct.unpack("!H", question[-4:-2])[0] == self.ADDRESS:
            answers = struct.pack("!HHHIH", 0xC00C, self.ADDRESS, 1, 0, 4) + bytes([127, 0, 0, 1])
        flags = 0x8180 | (0 if known else self.NO_SUCH_NAME)
        return message[:2] + struct.pack("!HHHHH", flags, 1, 1 if answers else 0, 0, 0) + question + answers


class Peers:
    """All of them, and the control over them."""

    def __init__(self, audit: int, users: int, names: str, clock: pathlib.Path, key_sets: list[str]):
        self._receivers = {"audit": Peer(audit), "users": Peer(users)}
        self._keys = [
            Peer(int(port), pathlib.Path(path).read_bytes())
            for port, path in (each.split("=", 1) for each in key_sets)
        ]
        self._names = NameServer(names) if names != "none" else None
        clock.write_bytes(bytes(8))
        with clock.open("r+b") as file:
            self._clock = mmap.mmap(file.fileno(), 8)

    def change(self, path: str) -> None:
        _, name, value = path.split("/")
        if name in self._receivers:
            self._receivers[name].mode = value
        elif name == "keys":
            for each in self._keys:
                each.mode = value
        elif name == "names" and self._names and value in ("well", "silent"):
            self._names.mode = value
        elif name == "clock":
            self._clock[:8] = struct.pack("=q", int(value))
        else:
            raise ValueError(path)

    def counts(self) -> str:
        counts = {name: len(receiver.received) for name, receiver in self._receivers.items()}
        counts["questions"] = self._names.questions if self._names else 0
        return "".join(f"{name} {count}\n" for name, count in counts.items())


def main() -> None:
    control, audit, users, names, clock, *key_sets = sys.argv[1:]
    peers = Peers(int(audit), int(users), names, pathlib.Path(clock), key_sets)

    class Control(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._respond(200, peers.counts())

        def do_POST(self) -> None:
            try:
                peers.change(self.path)
            except ValueError as error:
                return self._respond(400, f"{error}\n")
            self._respond(200, "")

        def _respond(self, status: int, text: str) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_) -> None:
            pass

    ThreadingHTTPServer(("127.0.0.1", int(control)), Control).serve_forever()


if __name__ == "__main__":
    main()
