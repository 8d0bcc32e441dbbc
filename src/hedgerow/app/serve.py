"""The server: one port of this machine, a worker, and an end that does not wait for open streams."""

from __future__ import annotations

import socket
import sys
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import uvicorn
from starlette.applications import Starlette

from hedgerow.app.graphs import GraphPages
from hedgerow.app.guard import Guard
from hedgerow.app.jobs import Jobs
from hedgerow.app.owner import OwnerPages
from hedgerow.app.published import ReleasePages
from hedgerow.app.publishing import PublishPages
from hedgerow.app.site import Site
from hedgerow.app.workspace import Workspace
from hedgerow.errors import InputError
from hedgerow.recipe import read_any
from hedgerow.verify.values import MANIFEST


def open_workspace(source: str | None, folder: str) -> Workspace:
    """The workspace for a table, a recipe, a bundle or nothing; a table is put into a new recipe in `folder`."""
    if source is None:
        return _make_workspace(Path(folder))
    place = Path(source)
    if place.suffix == ".toml":
        if place.name != "recipe.toml":
            raise InputError(
                f"The app keeps its recipe as 'recipe.toml'; rename '{place.name}', or copy it to a folder."
            )
        read_any(place)
        return Workspace(place.absolute().parent)
    if (place / MANIFEST).is_file():
        return Workspace(Path(folder).absolute(), place.absolute())
    from hedgerow.table import read_table

    path = source if "://" in source or source.startswith("duckdb:") else str(place.absolute())
    read_table(path)
    workspace = _make_workspace(Path(folder))
    before = workspace.recipe()
    if before is None or before.table != path:
        workspace.change(workspace.version(), workspace.start(path, {}))
    return workspace


def _make_workspace(folder: Path) -> Workspace:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"'{folder.name}' cannot be made: {error.strerror}.") from None
    return Workspace(folder.absolute())


def application(workspace: Workspace, jobs: Jobs) -> Starlette:
    """All pages over a workspace, without a guard."""
    site = Site(workspace, jobs)
    owner = OwnerPages(site)
    sections = (owner, PublishPages(site, owner), ReleasePages(site), GraphPages(site))
    return site.application([route for section in sections for route in section.routes()])


def serve(workspace: Workspace, *, port: int = 0, browse: bool = True, say: Callable[[str], None] = print) -> None:
    """Serve until Ctrl-C; `say` gets the address, which lets a browser in."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if sys.platform != "win32":
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(("127.0.0.1", port))
        listening.listen(128)
    except OSError as error:
        raise InputError(f"Port {port} cannot be used: {error.strerror}.") from None
    jobs = Jobs(warm_up)
    guard = Guard(application(workspace, jobs), listening.getsockname()[1])
    settings = uvicorn.Config(
        guard,
        access_log=False,
        log_level="critical",  # a trace may hold a cell
        lifespan="off",
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=1,  # then open streams of progress are cut
        ws="none",
    )
    address = f"http://127.0.0.1:{listening.getsockname()[1]}{guard.entry}"
    say(address)
    if browse:
        threading.Thread(target=lambda: webbrowser.open(address), daemon=True).start()
    try:
        with suppress(KeyboardInterrupt):
            uvicorn.Server(settings).run([listening])
    finally:
        listening.close()
        jobs.close()


def warm_up() -> None:
    """Load and compile what the first publication and the first certificate would wait for, on a made-up table."""
    import numpy as np

    from hedgerow.certificate import page, table  # noqa: F401
    from hedgerow.methods import KEAnonymity
    from hedgerow.schema import Schema

    rows = np.arange(20_000)
    release = KEAnonymity(k=5, e=10, l=2).publish({"a": rows % 97, "b": rows % 1009}, Schema(quasi="a", sensitive="b"))
    release.ask("SELECT avg(b) FROM release WHERE a < 50")
