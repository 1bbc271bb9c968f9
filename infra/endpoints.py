"""Liveness, readiness and metrics of one process, over HTTP."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping

import uvicorn
from prometheus_client import make_asgi_app
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route

Ready = Callable[[], bool]


def application(services: Mapping[str, Ready]) -> Starlette:
    """Return the endpoints: `/health/live`, `/health/ready`, `/metrics`.

    Ready is 200 only while every service is; the body says which one is not.
    """

    async def live(_: Request) -> Response:
        return JSONResponse({"status": "alive"})

    async def ready(_: Request) -> Response:
        states = {name: is_ready() for name, is_ready in services.items()}
        return JSONResponse(
            {
                "status": "ready" if all(states.values()) else "not ready",
                "services": states,
            },
            status_code=200 if all(states.values()) else 503,
        )

    return Starlette(
        routes=[
            Route("/health/live", live),
            Route("/health/ready", ready),
            Mount("/metrics", make_asgi_app()),
        ]
    )


class Endpoints:
    """The HTTP server of one process; port 0 picks a free one."""

    def __init__(self, services: Mapping[str, Ready], host: str, port: int) -> None:
        config = uvicorn.Config(
            application(services), host=host, port=port, log_config=None, lifespan="off"
        )
        self._server = uvicorn.Server(config)
        # our own signal handling stays in force
        self._server.capture_signals = contextlib.nullcontext  # type: ignore[assignment]
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> str:
        """Serve in the background and return the URL."""
        serve = self._server.serve()
        self._task = asyncio.create_task(serve)
        while not self._server.started:
            if self._task.done():
                self._task.result()
            await asyncio.sleep(0.01)
        host, port = self._server.servers[0].sockets[0].getsockname()[:2]
        return f"http://{host}:{port}"

    async def stop(self) -> None:
        """Stop serving."""
        self._server.should_exit = True
        if self._task is not None:
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
