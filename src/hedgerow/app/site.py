"""The frame of every page: layout, texts, errors in one sentence, forms with the version that they were made from."""

from __future__ import annotations

import hashlib
import json
import os
import traceback
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from functools import cache, wraps
from pathlib import Path
from typing import Any

import anyio
import jinja2
import msgspec
from markupsafe import Markup, escape
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from hedgerow.app.jobs import Job, Jobs, fault
from hedgerow.app.workspace import Stale, Workspace
from hedgerow.certificate.page import percent, strict_environment
from hedgerow.errors import HedgerowError
from hedgerow.recipe import Recipe, recipe_command, recipe_script

_HERE = Path(__file__).parent
_STATIC = {
    "style.css": "text/css; charset=utf-8",
    "app.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
_TICK = 0.1
"""Seconds between two looks at a job that somebody watches."""

Form = Mapping[str, Any]
Action = Callable[[Any, Request, Form], Response]


@cache
def texts() -> dict[str, Any]:
    """Every sentence that the app says by itself, by page."""
    found: dict[str, Any] = msgspec.toml.decode((_HERE / "texts.toml").read_bytes())
    return found


class Site:
    """All pages over one workspace."""

    def __init__(self, workspace: Workspace, jobs: Jobs) -> None:
        self.workspace, self.jobs, self.texts = workspace, jobs, texts()
        self._environment = _environment()

    def application(self, pages: Iterable[Route]) -> Starlette:
        """These and further pages as an application without a guard."""
        routes = [
            self.get("/", self.home),
            self.get("/static/{name}", self.static),
            self.get("/recipe.toml", self.recipe_file),
            self.get("/script.py", self.script_file),
            self.get("/commands.sh", self.commands_file),
            self.post("/undo", lambda request, form: self.step("undo", form)),
            self.post("/redo", lambda request, form: self.step("redo", form)),
            self.get("/jobs/{id}", self.job_page),
            Route("/jobs/{id}/events", self.events),
            self.post("/jobs/{id}/stop", self.stop_job),
            *pages,
        ]
        return Starlette(routes=routes, exception_handlers={404: self._missing, 405: self._missing})

    def get(self, path: str, page: Callable[[Request], Response]) -> Route:
        """An address that shows something."""

        def respond(request: Request) -> Response:
            try:
                return page(request)
            except HTTPException:
                raise
            except Exception as error:
                return self._problem(request, error)

        return Route(path, respond, methods=["GET"])

    def post(self, path: str, act: Callable[[Request, Form], Response]) -> Route:
        """An address that changes something: it answers 303, a problem in one sentence, or 409 to a stale form."""

        async def respond(request: Request) -> Response:
            try:
                async with request.form(max_files=1, max_fields=5000, max_part_size=1 << 20) as form:
                    return await run_in_threadpool(self._act, act, request, form)
            except HTTPException:
                raise
            except Exception as error:
                return await run_in_threadpool(self._problem, request, error)

        return Route(path, respond, methods=["POST"])

    def _act(self, act: Callable[[Request, Form], Response], request: Request, form: FormData) -> Response:
        try:
            return act(request, form)
        except Stale as stale:
            return self.page(
                "conflict", request, status=409, theirs=_pairs_of(stale.theirs), ours=_pairs_of(stale.ours)
            )

    def stop_previews(self) -> None:
        """End what only draws a picture, so that nobody waits for it."""
        job = self.jobs.last("frontier")
        if job is not None and not job.is_over:
            job.stop()

    def page(self, template: str, request: Request, *, status: int | None = None, **more: Any) -> HTMLResponse:
        """Lay out a page; one that shows a problem answers 422 unless another status is given."""
        frame = {
            "t": self.texts,
            "page": template,
            "version": self.workspace.version(),
            "steps": self._steps(),
            "summary": self._summary(),
            "can": {way: self.workspace.can(way) for way in ("undo", "redo")},
            "here": request.url.path,
            "problem": "",
        }
        laid_out = self._environment.get_template(f"{template}.html").render(frame | more)
        return HTMLResponse(laid_out, status_code=status or (422 if more.get("problem") else 200))

    def fragment(self, template: str, **more: Any) -> str:
        """Lay out a part of a page."""
        return self._environment.get_template(f"{template}.html").render({"t": self.texts} | more)

    def home(self, request: Request) -> Response:
        """Go to the first step that is not done."""
        if self.workspace.any_recipe() is None and self.workspace.releases():
            return go("/releases")
        first = next((step["address"] for step in self._steps() if not step["done"]), "/releases")
        return go(first)

    def static(self, request: Request) -> Response:
        """One of the files that every page needs."""
        name = request.path_params["name"]
        if name not in _STATIC:
            raise HTTPException(404)
        return Response((_HERE / "static" / name).read_bytes(), headers={"content-type": _STATIC[name]})

    def recipe_file(self, request: Request) -> Response:
        """The recipe, byte by byte."""
        if not self.workspace.file.exists():
            raise HTTPException(404)
        return _file(self.workspace.file.read_bytes(), "recipe.toml")

    def script_file(self, request: Request) -> Response:
        """The same as a Python script."""
        return _file(recipe_script(self._recipe(), seed=_seed(request)).encode(), "script.py")

    def commands_file(self, request: Request) -> Response:
        """The same for a shell."""
        return _file(f"{recipe_command(self._recipe(), seed=_seed(request))}\n".encode(), "commands.sh")

    def _recipe(self) -> Any:
        recipe = self.workspace.any_recipe()
        if recipe is None:
            raise HTTPException(404)
        return recipe

    def step(self, way: str, form: Form) -> Response:
        """Undo or redo."""
        self.workspace.step(str(form.get("version", "")), way)
        back = str(form.get("back", ""))
        return go(back if back in ("/table", "/roles", "/promise", "/graph", "/publish") else "/")

    def job_page(self, request: Request) -> Response:
        """How far a job is."""
        job = self._job(request)
        if job.state == "done" and job.done_at != request.url.path:
            return go(job.done_at)
        return self.page("job", request, job=job, words=self.words(job))

    def stop_job(self, request: Request, form: Form) -> Response:
        """Ask a job to end."""
        job = self._job(request)
        job.stop()
        return go(str(form["back"]) if form.get("back") in ("/promise", "/graph") else f"/jobs/{job.id}")

    def _job(self, request: Request) -> Job:
        job = self.jobs.find(request.path_params["id"])
        if job is None:
            raise HTTPException(404)
        return job

    def words(self, job: Job) -> str:
        """Say how far a job is."""
        said = self.texts["job"]
        if job.state == "waiting" and not self.jobs.is_ready.is_set():
            return str(said["preparing"])
        known = said["steps"].get(job.step, job.step)
        return str(said[job.state]).format(step=known, share=f"{job.share:.0%}")

    async def events(self, request: Request) -> Response:
        """A job's progress as it happens."""
        job = self._job(request)

        async def stream() -> AsyncIterator[str]:
            seen = -1
            while True:
                if job.seen != seen or job.is_over:
                    seen = job.seen
                    said = {"share": job.share, "words": self.words(job), "parts": len(job.parts), "over": job.is_over}
                    yield f"data: {json.dumps(said)}\n\n"
                    if job.is_over:
                        return
                await anyio.sleep(_TICK)

        return StreamingResponse(stream(), media_type="text/event-stream")

    def _missing(self, request: Request, error: Exception) -> Response:
        return self.page(
            "error", request, status=getattr(error, "status_code", 404), sentence=self.texts["error"]["missing"]
        )

    def _problem(self, request: Request, error: Exception) -> Response:
        """One sentence; words of other libraries, which may hold a cell, are not shown."""
        if isinstance(error, HedgerowError):
            return self.page("error", request, status=422, sentence=str(error))
        if os.environ.get("HEDGEROW_DEBUG"):
            traceback.print_exception(error)
        return self.page("error", request, status=500, sentence=fault(error))

    def _steps(self) -> list[dict[str, Any]]:
        try:
            found = self.workspace.any_recipe()
        except HedgerowError:
            found = None
        if found is not None and not isinstance(found, Recipe):
            done = {"graph": bool(found.method), "publish": bool(self.workspace.releases())}
            return [{"name": name, "address": f"/{name}", "done": done[name]} for name in done]
        recipe = found
        has_roles = recipe is not None and bool(recipe.roles.sensitive or recipe.roles.plain or recipe.others)
        done = {
            "table": recipe is not None,
            "roles": has_roles,
            "promise": has_roles and recipe is not None and bool(recipe.method),
            "publish": bool(self.workspace.releases()),
        }
        return [{"name": name, "address": f"/{name}", "done": done[name]} for name in done]

    def _summary(self) -> str:
        said = self.texts["summary"]
        try:
            recipe = self.workspace.any_recipe()
        except HedgerowError as error:
            return str(error)
        if recipe is None:
            return str(said["nothing"])
        table = recipe.table if isinstance(recipe, Recipe) else recipe.graph.edges
        parts = [Path(table).name if "://" not in table else table.split("#")[-1]]
        roles = msgspec.to_builtins(recipe.roles) if isinstance(recipe, Recipe) else {}
        parts += [f"{len(names)} {self.texts['roles']['names'][role]}" for role, names in roles.items() if names]
        if recipe.method:
            shown = ", ".join(f"{key} = {value}" for key, value in recipe.parameters.items())
            parts.append(f"{recipe.method.get('name')} ({shown})" if shown else str(recipe.method.get("name")))
        return " · ".join([*parts, str(said["output"]).format(name=Path(recipe.output).name)])


def or_show(page: str) -> Callable[[Action], Action]:
    """A post whose refusal is one sentence on the page that its form came from, with the fields as they were."""

    def decorate(act: Action) -> Action:
        @wraps(act)
        def act_or_show(self: Any, request: Request, form: Form) -> Response:
            try:
                return act(self, request, form)
            except HedgerowError as error:
                found: Response = getattr(self, page)(request, str(error), form)
                return found

        return act_or_show

    return decorate


def go(address: str) -> RedirectResponse:
    """Send a browser on after a post."""
    return RedirectResponse(address, status_code=303)


def _file(content: bytes, name: str) -> Response:
    return Response(
        content,
        headers={"content-type": "text/plain; charset=utf-8", "content-disposition": f'inline; filename="{name}"'},
    )


def _seed(request: Request) -> int | None:
    text = request.query_params.get("seed", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def _pairs_of(recipe: Any) -> list[tuple[str, str]]:
    if recipe is None:
        return []
    plain = msgspec.to_builtins(recipe)
    roles = plain.pop("roles", {})
    return [(name, str(value)) for name, value in {**plain, **roles}.items() if value not in (None, [], {})]


@cache
def _environment() -> jinja2.Environment:
    environment = strict_environment(_HERE / "templates")
    environment.filters |= {
        "thousands": lambda number: f"{number:,}",
        "percent": percent,
        "typed": lambda text: Markup(escape(text)),
    }
    environment.globals["stamp"] = _stamp()
    return environment


def _stamp() -> str:
    """A name for the present stylesheet and script, so that a browser never keeps old ones."""
    content = b"".join((_HERE / "static" / name).read_bytes() for name in sorted(_STATIC))
    return hashlib.sha256(content).hexdigest()[:8]
