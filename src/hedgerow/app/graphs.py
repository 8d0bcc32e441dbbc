"""Publishing a bipartite graph: three tables, k and l on one page; its release has the same pages as any other."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hedgerow.app.jobs import Job
from hedgerow.app.site import Form, Site, go
from hedgerow.errors import HedgerowError, InputError, ParameterError
from hedgerow.graph import BipartiteGraph, SafeGrouping
from hedgerow.release.folder import named_folder

__all__ = ["GraphPages"]

_FIELDS = ("left", "right", "edges", "k", "l", "order")
_ORDERS = ("random", "degree", "neighbourhood")


class GraphPages:
    """The page of graphs; nothing of it is kept but the release, and the command says the same for a shell."""

    def __init__(self, site: Site) -> None:
        self.site, self.workspace = site, site.workspace

    def routes(self) -> list[Route]:
        """The page's address."""
        return [self.site.get("/graph", self.graph), self.site.post("/graph", self.start)]

    def graph(self, request: Request, problem: str = "", given: Form | None = None) -> Response:
        """Which tables, how large groups are, and what that hides."""
        filled = {name: str((given or {}).get(name, "")) for name in _FIELDS}
        return self.site.page(
            "graph",
            request,
            status=422 if problem else 200,
            problem=problem,
            given=filled,
            orders=_ORDERS,
            output=str((given or {}).get("output") or Path(self.workspace.free_output()).name),
        )

    def start(self, request: Request, form: Form) -> Response:
        """Read the graph, so that a mistake is told at once, and publish it in the background."""
        name = str(form.get("output", "")).strip()
        try:
            if not re.fullmatch(r"[^\W_][\w.-]{0,80}", name) or (self.workspace.folder / name).exists():
                raise ParameterError(self.site.texts["publish"]["bad_name"])
            named_folder(self.workspace.folder / name)
            files = [str(form.get(side, "")).strip() for side in ("left", "right", "edges")]
            if not all(files):
                raise InputError(self.site.texts["graph"]["none"])
            method = SafeGrouping(_whole(form, "k"), _whole(form, "l"), _order(form))
            graph = BipartiteGraph.read(*files)
        except HedgerowError as error:
            return self.graph(request, str(error), form)
        output, again = str(self.workspace.folder / name), bool(form.get("again"))
        ledger = str(self.workspace.folder / "ledger.json") if form.get("ledger") else None

        def work(job: Job) -> None:
            method.publish(graph, ledger=ledger, again=again, progress=job.report).save(output)

        self.site.stop_previews()
        command = _command(files, method, output, ledger)
        job = self.site.jobs.start(Job("publish", work, f"/releases/{quote(name)}", note=command))
        return go(f"/jobs/{job.id}")


def _whole(form: Form, name: str) -> Any:
    """A whole number, or the text that the method refuses by name."""
    text = str(form.get(name, "")).strip()
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else text


def _order(form: Form) -> Any:
    return str(form.get("order", "")) or "random"


def _command(files: list[str], method: SafeGrouping, output: str, ledger: str | None) -> str:
    words = ["hedgerow", "graph", "publish", *files, "-k", str(method.k), "-l", str(method.l)]
    words += ["--order", method.order, "--out", output]
    return shlex.join([*words, *(["--ledger", ledger] if ledger is not None else [])])
