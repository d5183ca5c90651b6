"""A server that fails, is slow, breaks connections or does all of it in turn, between the gateway and whatever it waits for."""

import itertools
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from .sanitizer import PATIENCE

# The modes that requests meet in turn where everything goes wrong.
MIXED = ("well", "failing", "slow", "slow", "breaking", "failing", "half")
# Seconds until a slow answer comes, in turn: some come after the gateway has given up.
DELAYS = (0.02, 0.3, 0.1, 1.2, 0.05, 0.6, 2.5)


class Unreliable:
    """`mode` is "well", "failing" (503), "slow", "breaking" (no answer), "half" (half an answer) or "mixed".

    A request that is let through goes to `behind`, the URL of the real server; without one, 200 is the answer.
    """

    def __init__(self, behind: str | None = None, mode: str = "well"):
        self.mode = mode
        self.requests = 0
        self._modes = itertools.cycle(MIXED)
        self._delays = itertools.cycle(DELAYS)
        self._stopping = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Head and body are two writes, and the second must not wait for an acknowledgement of the first.
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                outer.requests += 1
                body = self.rfile.read(int(self.headers["Content-Length"] or 0)) if self.command == "POST" else None
                mode = next(outer._modes) if outer.mode == "mixed" else outer.mode
                if mode == "breaking":
                    self.close_connection = True
                    return
                if mode == "slow":
                    outer._stopping.wait(next(outer._delays))
                status, fields, answer = (503, {}, b"") if mode == "failing" else outer._answer(self, body)
                self.send_response(status)
                for name, value in fields.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer) + (100 if mode == "half" else 0)))
                self.end_headers()
                self.wfile.write(answer)
                self.close_connection = self.close_connection or mode == "half"

            do_GET = do_POST

            def log_message(self, *_) -> None:
                pass

        class Server(ThreadingHTTPServer):
            request_queue_size = 512
            daemon_threads = True

            def handle_error(self, request, client_address) -> None:
                """The gateway has not waited for the answer."""

        self._behind = behind
        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def _answer(self, request: BaseHTTPRequestHandler, body: bytes | None) -> tuple[int, dict[str, str], bytes]:
        if not self._behind:
            return 200, {}, b""
        names = ("Content-Type", "X-Amz-Target", "Authorization")
        headers = {name: request.headers[name] for name in names if request.headers[name]}
        forwarded = urllib.request.Request(self._behind + request.path, body, headers, method=request.command)
        try:
            with urllib.request.urlopen(forwarded, timeout=10 * PATIENCE) as answer:
                return answer.status, {"Content-Type": answer.headers["Content-Type"] or "text/plain"}, answer.read()
        except urllib.error.HTTPError as refusal:
            return refusal.code, {"Content-Type": refusal.headers["Content-Type"] or "text/plain"}, refusal.read()

    def stop(self) -> None:
        self._stopping.set()
        self._server.shutdown()
        self._server.server_close()
