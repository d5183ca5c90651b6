"""The resources of flask_app.py by Starlette: for uvicorn, hypercorn, Daphne and granian."""

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]


def told(request: Request, resource: str) -> JSONResponse:
    said = {
        "resource": resource, "method": request.method, "host": request.url.netloc, "scheme": request.url.scheme,
        "client": request.client and request.client.host, "user": request.headers.get("remote-user"),
    }
    return JSONResponse(said, 404 if resource == "none" else 200)


def telling(resource: str):
    async def endpoint(request: Request) -> JSONResponse:
        return told(request, resource.format(**request.path_params))

    return endpoint


async def nothing(request: Request, _: Exception) -> JSONResponse:
    return told(request, "none")


PATHS = {
    "/gu/staff/{rest:path}": "staff", "/gu/{rest:path}": "gu", "/admin/{rest:path}": "admin",
    "/users/{owner}/{rest:path}": "user {owner}",
}
app = Starlette(
    routes=[Route(path, telling(resource), methods=METHODS) for path, resource in PATHS.items()],
    exception_handlers={404: nothing},
)
