"""The last step, the same for tables and graphs: what will leave, the ledger, and the job that publishes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hedgerow.app.jobs import Job
from hedgerow.app.owner import ROLES, OwnerPages, roles_by_column
from hedgerow.app.site import Form, Site, go, or_show
from hedgerow.errors import InputError, ParameterError
from hedgerow.graph.recipe import GraphRecipe
from hedgerow.recipe import Recipe, publish_recipe
from hedgerow.release.folder import named_folder


class PublishPages:
    """The page before publishing, and its button."""

    def __init__(self, site: Site, owner: OwnerPages) -> None:
        self.site, self.workspace, self.owner = site, site.workspace, owner

    def routes(self) -> list[Route]:
        """The addresses of this page."""
        return [self.site.get("/publish", self.publish), self.site.post("/publish", self.start)]

    def publish(self, request: Request, problem: str = "", given: Form | None = None) -> Response:
        """What will leave, and the button."""
        recipe = self.workspace.any_recipe()
        if recipe is None:
            return go("/table")
        if isinstance(recipe, Recipe):
            if not recipe.method:
                return go("/promise")
            if blocked := self.owner.obstacle(recipe):
                return self.owner.roles(request, blocked)
        elif not recipe.method:
            return go("/graph")
        output = recipe.output if not Path(recipe.output).exists() else self.workspace.free_output()
        last = self.site.jobs.last("publish")
        return self.site.page(
            "publish",
            request,
            problem=problem,
            recipe=recipe,
            leaves=self._leaves(recipe),
            words=self._words(recipe),
            output=str(given.get("output", "")) if given else Path(output).name,
            ledger=bool(given.get("ledger")) if given else recipe.ledger is not None,
            last=last if last is not None and not last.is_over else None,
        )

    def _leaves(self, recipe: Recipe | GraphRecipe) -> list[tuple[str, list[str]]]:
        """What becomes of columns by role, or which tables a graph has."""
        said = self.site.texts["publish"]
        if isinstance(recipe, GraphRecipe):
            sides = [(side, getattr(recipe.graph, side)) for side in ("left", "right", "edges")]
            return [(said[side], [Path(place).name]) for side, place in sides if place is not None]
        given = roles_by_column(recipe)
        by_role = {role: [name for name, its in given.items() if its == role] for role in ROLES}
        always = ("quasi", "sensitive", "identifier")
        return [(said[role], names) for role, names in by_role.items() if names or role in always]

    def _words(self, recipe: Recipe | GraphRecipe) -> dict[str, Any]:
        found: dict[str, Any] = (
            self.site.texts["graph"] | {"title": self.site.texts["graph"]["method"]}
            if isinstance(recipe, GraphRecipe)
            else self.site.texts["methods"][recipe.method_name]
        )
        return found

    @or_show("publish")
    def start(self, request: Request, form: Form) -> Response:
        """Write the output's name and the ledger into the recipe, and start the job."""
        recipe = self.workspace.any_recipe()
        if recipe is None:
            raise InputError(self.site.texts["table"]["none"])
        name = str(form.get("output", "")).strip()
        if not re.fullmatch(r"[^\W_][\w.-]{0,80}", name) or (self.workspace.folder / name).exists():
            raise ParameterError(self.site.texts["publish"]["bad_name"])
        named_folder(self.workspace.folder / name)
        ledger = str(self.workspace.folder / "ledger.json") if form.get("ledger") else None
        if ledger is not None and recipe.ledger is not None:
            ledger = recipe.ledger
        changed = msgspec.structs.replace(recipe, output=str(self.workspace.folder / name), ledger=ledger)
        changed.build_method()
        self.workspace.change(str(form.get("version", "")), changed)
        again = bool(form.get("again"))

        def work(job: Job) -> None:
            publish_recipe(changed, again=again, progress=job.report, source=self.workspace.source(changed))
            self.site.jobs.start(Job("prepare", lambda later: self.workspace.prepare(name)))

        self.site.stop_previews()
        job = self.site.jobs.start(Job("publish", work, f"/releases/{quote(name)}"))
        return go(f"/jobs/{job.id}")
