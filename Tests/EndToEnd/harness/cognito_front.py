"""Stands between the gateway and LocalPool: notes each Cognito operation, and answers some itself with an error."""

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from .sanitizer import PATIENCE


class CognitoFront:
    def __init__(self, pool_url: str):
        # The operations called, in order: name and parsed body.
        self.calls: list[tuple[str, dict]] = []
        # Operation name → (status, error type, message) given instead of asking the pool.
        self.refused: dict[str, tuple[int, str, str]] = {}
        # Operation name → output given instead of asking the pool.
        self.outputs: dict[str, dict] = {}
        # Replaces the body of a call to the pool: operation and body → body.
        self.rewrite: Callable[[str, dict], dict] | None = None
        # Called with the operation once the pool has done it, before its response goes on.
        self.before_response: Callable[[str], None] | None = None
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Head and body are two writes, and the second must not wait for an acknowledgement of the first.
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                operation = self.headers["X-Amz-Target"].rsplit(".", 1)[1]
                outer.calls.append((operation, json.loads(body)))
                if outer.rewrite:
                    body = json.dumps(outer.rewrite(operation, json.loads(body))).encode()
                if operation in outer.refused:
                    status, error, message = outer.refused[operation]
                    answer = json.dumps({"__type": error, "message": message}).encode()
                elif operation in outer.outputs:
                    status, answer = 200, json.dumps(outer.outputs[operation]).encode()
                else:
                    # The signed headers go along with the signature.
                    names = ("Content-Type", "X-Amz-Target", "Authorization", "X-Amz-Date", "Host")
                    headers = {name: self.headers[name] for name in names if self.headers[name]}
                    request = urllib.request.Request(pool_url + "/", data=body, headers=headers, method="POST")
                    try:
                        with urllib.request.urlopen(request, timeout=10 * PATIENCE) as response:
                            status, answer = response.status, response.read()
                    except urllib.error.HTTPError as refusal:
                        status, answer = refusal.code, refusal.read()
                if outer.before_response:
                    outer.before_response(operation)
                self.send_response(status)
                self.send_header("Content-Type", "application/x-amz-json-1.1")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def operations(self) -> list[str]:
        return [name for name, _ in self.calls]

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
