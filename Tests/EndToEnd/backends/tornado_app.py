"""The resources of flask_app.py by Tornado, which believes its proxy's X-headers (`xheaders`)."""

import asyncio
import os

from tornado.web import Application, RequestHandler


class Telling(RequestHandler):
    def initialize(self, resource: str) -> None:
        self.resource = resource

    def prepare(self) -> None:
        resource = self.resource.format(owner=self.path_args[0] if self.path_args else "")
        self.set_status(404 if resource == "none" else 200)
        said = {
            "resource": resource, "method": self.request.method, "host": self.request.host,
            "scheme": self.request.protocol, "client": self.request.remote_ip,
            "user": self.request.headers.get("Remote-User"),
        }
        self.finish(said)


PATHS = {r"/gu/staff/.*": "staff", r"/gu/.*": "gu", r"/admin/.*": "admin", r"/users/([^/]*)/.*": "user {owner}", r"/.*": "none"}


async def main() -> None:
    application = Application([(path, Telling, {"resource": resource}) for path, resource in PATHS.items()])
    application.listen(int(os.environ["PORT"]), "127.0.0.1", xheaders=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
