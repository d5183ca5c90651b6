"""The backend behind the quickstart and the end-to-end tests: an ordinary FastAPI service.

It knows nothing of tokens. Who the caller is, it reads from the `X-Auth-*` headers that Gatehouse sets after it has
verified the caller's token, and that no client can set. Run it on loopback (or any network only Gatehouse reaches):

    uvicorn app:app --host 127.0.0.1 --port 9000
"""

import asyncio
import hashlib
from typing import Annotated
from urllib.parse import unquote

from fastapi import Depends, FastAPI, Header, HTTPException, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

app = FastAPI(title="Example backend")


class Caller(BaseModel):
    """The verified caller, as Gatehouse describes them. Claims that are not ASCII arrive percent-encoded."""

    subject: str
    email: str | None = None
    username: str | None = None
    groups: list[str] = []


def current_caller(
    x_auth_subject: Annotated[str | None, Header()] = None,
    x_auth_email: Annotated[str | None, Header()] = None,
    x_auth_username: Annotated[str | None, Header()] = None,
    x_auth_groups: Annotated[str | None, Header()] = None,
) -> Caller:
    """The caller; 401 should this ever run without Gatehouse in front or on a route it was not told to protect."""
    if not x_auth_subject:
        raise HTTPException(status_code=401, detail="no identity")
    return Caller(
        subject=unquote(x_auth_subject),
        email=unquote(x_auth_email) if x_auth_email else None,
        username=unquote(x_auth_username) if x_auth_username else None,
        groups=[unquote(group) for group in x_auth_groups.split(",")] if x_auth_groups else [],
    )


@app.get("/public/hello")
async def hello(request: Request) -> dict:
    """For everybody. Tells the headers it got, so that one can see that no identity comes along."""
    return {"message": "hello", "headers": header_lines(request)}


@app.get("/api/v1/whoami")
async def whoami(request: Request) -> dict:
    """The identity as received (`X-Auth-*`), and every header line, in order and with repetitions."""
    lines = header_lines(request)
    identity = {name: value for name, value in lines if name.startswith("x-auth-")}
    return {"identity": identity, "headers": lines}


@app.get("/api/v1/items")
async def items() -> dict:
    return {"items": [{"id": number, "name": f"item {number}"} for number in range(1, 4)]}


@app.get("/api/v1/profile")
async def profile(caller: Annotated[Caller, Depends(current_caller)]) -> Caller:
    """An example of application code: it asks for the caller and gets a value."""
    return caller


@app.get("/users/{sub}")
async def user(sub: str, request: Request) -> dict:
    return {"sub": sub, "caller": request.headers.get("x-auth-subject")}


@app.get("/api/v1/events")
async def events(
    n: Annotated[int, Query(ge=0, le=10_000)] = 3, interval: Annotated[float, Query(ge=0, le=60)] = 1.0
) -> StreamingResponse:
    """Server-sent events: `n` of them, `interval` seconds apart."""

    async def stream():
        for number in range(n):
            if number:
                await asyncio.sleep(interval)
            yield f"id: {number}\nevent: tick\ndata: {{\"n\": {number}}}\n\n"

    return StreamingResponse(stream(), media_type="text/event-stream")


@app.post("/api/v1/upload")
async def upload(request: Request) -> dict:
    """Reads the body as a stream, whatever its framing and size, and tells what arrived."""
    digest, count = hashlib.sha256(), 0
    async for chunk in request.stream():
        digest.update(chunk)
        count += len(chunk)
    return {"bytes": count, "sha256": digest.hexdigest()}


@app.get("/api/v1/download")
async def download(
    size: Annotated[int, Query(alias="bytes", ge=0, le=1 << 32)] = 1 << 20, chunked: bool = False
) -> StreamingResponse:
    """`bytes` bytes of zeros, streamed; sized unless `chunked`."""
    piece = bytes(64 * 1024)

    async def stream():
        left = size
        while left > 0:
            yield piece[: min(left, len(piece))]
            left -= len(piece)

    headers = {} if chunked else {"content-length": str(size)}
    return StreamingResponse(stream(), media_type="application/octet-stream", headers=headers)


@app.get("/api/v1/slow")
async def slow(seconds: Annotated[float, Query(ge=0, le=600)] = 1.0) -> dict:
    await asyncio.sleep(seconds)
    return {"slept": seconds}


@app.get("/api/v1/fail")
async def fail(status: Annotated[int, Query(ge=400, le=599)] = 500) -> Response:
    raise HTTPException(status_code=status, detail=f"failing with {status}, as asked")


@app.get("/api/v1/abort")
async def abort() -> StreamingResponse:
    """Breaks the connection in the middle of the response: a thousand bytes promised, ten sent."""

    async def stream():
        yield b"ten bytes."

    # uvicorn finds the body shorter than promised and closes the connection without completing the response.
    return StreamingResponse(stream(), media_type="text/plain", headers={"content-length": "1000"})


def header_lines(request: Request) -> list[tuple[str, str]]:
    return [(name.decode("latin-1"), value.decode("latin-1")) for name, value in request.headers.raw]
