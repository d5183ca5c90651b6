"""Where containers and instances get their credentials: ECS's and EKS's endpoint, and the instance metadata service."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ROLE = "gateway-role"


class CredentialEndpoint:
    """Answers as both do, and notes what it was asked. A request without its token gets 401."""

    def __init__(self, access_key: dict[str, str], token: str = "endpoint-token-0123456789"):
        self.token = token
        self.asked: list[tuple[str, str]] = []
        outer = self
        credentials = {
            "Code": "Success",
            "AccessKeyId": access_key["access_key_id"],
            "SecretAccessKey": access_key["secret_access_key"],
            "Token": "session-token-9876543210",
            "Expiration": "2099-01-01T00:00:00Z",
        }

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Head and body are two writes, and the second must not wait for an acknowledgement of the first.
            disable_nagle_algorithm = True

            def do_PUT(self) -> None:
                outer.asked.append(("PUT", self.path))
                self.answer(200, outer.token if self.headers["X-aws-ec2-metadata-token-ttl-seconds"] else "no")

            def do_GET(self) -> None:
                outer.asked.append(("GET", self.path))
                given = self.headers["X-aws-ec2-metadata-token"] or self.headers["Authorization"]
                if given != outer.token:
                    return self.answer(401, "no token")
                if self.path.endswith("/security-credentials/"):
                    return self.answer(200, ROLE)
                self.answer(200, json.dumps(credentials))

            def answer(self, status: int, text: str) -> None:
                body = text.encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
