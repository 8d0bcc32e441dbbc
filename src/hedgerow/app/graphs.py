"""A bipartite graph: its tables, k and l on one page, kept in the recipe; then it is published like a table."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from hedgerow.app import charts
from hedgerow.app.jobs import Job
from hedgerow.app.owner import absolute
from hedgerow.app.site import Form, Site, go, or_show
from hedgerow.digits import number_text
from hedgerow.errors import InputError
from hedgerow.graph.adjacency import ORDERS
from hedgerow.graph.bipartite import BipartiteGraph
from hedgerow.graph.compare import GraphPoint, graph_frontier, graph_settings
from hedgerow.graph.method import SafeGrouping
from hedgerow.graph.recipe import METHOD, GraphRecipe, GraphSource

_SIDES = ("left", "right", "edges")
_FIELDS = (*_SIDES, "values", "repeats", "dangling", "k", "l", "order", "hubs")


class GraphPages:
    """The page of graphs."""

    def __init__(self, site: Site) -> None:
        self.site, self.workspace = site, site.workspace

    def routes(self) -> list[Route]:
        """The page's address, and those of its picture alone and of drawing it again."""
        return [
            self.site.get("/graph", self.graph),
            self.site.post("/graph", self.choose),
            self.site.get("/graph/frontier", self.picture),
            self.site.post("/graph/frontier", self.restart),
        ]

    def graph(self, request: Request, problem: str = "", given: Form | None = None) -> Response:
        """Which tables, how large groups are, what that hides, and what each size of groups would cost."""
        filled = {
            name: str((given or self._form_values() | dict(request.query_params)).get(name, "")) for name in _FIELDS
        }
        recipe = self.workspace.any_recipe()
        job = self._drawing(recipe) if isinstance(recipe, GraphRecipe) else None
        return self.site.page(
            "graph",
            request,
            problem=problem,
            given=filled,
            orders=list(ORDERS),
            job=job,
            picture=None if job is None else Markup(self._render_points(job)),
            words="" if job is None else self.site.words(job),
        )

    # What each size of groups costs

    def picture(self, request: Request) -> Response:
        """The picture with its table, without the page around it."""
        job = self.site.jobs.last("frontier")
        return HTMLResponse("" if job is None or not isinstance(job.key, GraphSource) else self._render_points(job))

    def restart(self, request: Request, form: Form) -> Response:
        """Draw the picture again."""
        recipe = self.workspace.any_recipe()
        if isinstance(recipe, GraphRecipe):
            self.site.stop_previews()
            self._start(recipe)
        return go("/graph")

    def _drawing(self, recipe: GraphRecipe) -> Job:
        """The job that draws for the present graph; started where there is none."""
        job = self.site.jobs.last("frontier")
        if job is not None and job.key == recipe.graph:
            return job
        self.site.stop_previews()
        return self._start(recipe)

    def _start(self, recipe: GraphRecipe) -> Job:
        def work(job: Job) -> None:
            graph = self.workspace.source(recipe)
            assert isinstance(graph, BipartiteGraph)
            method = recipe.build_method()
            settings = graph_settings(hubs=method.hubs)
            settings = [method, *settings] if method not in settings else settings
            for place, point in enumerate(graph_frontier(graph, settings, cancelled=lambda: job.is_stopping)):
                job.step, job.share = _setting(point.method), (place + 1) / len(settings)
                job.add(point)
            job.report(job.step, 1.0)

        return self.site.jobs.start(Job("frontier", work, "/graph", key=recipe.graph))

    def _render_points(self, job: Job) -> str:
        """Picture, sentence and table of the points so far."""
        said, own = self.site.texts["frontier"], self.site.texts["graph"]
        recipe = self.workspace.any_recipe()
        chosen = recipe.build_method() if isinstance(recipe, GraphRecipe) and recipe.method else None
        points: list[GraphPoint] = list(job.parts)
        drawn = [
            charts.ChartPoint(
                point.method.order,
                _setting(point.method),
                point.chance,
                point.width,
                _address(point.method),
                point.method == chosen,
            )
            for point in points
            if point.chance is not None and point.width is not None
        ]
        words = {
            "x": own["guess"],
            "y": said["y"].format(question=own["question"]),
            "label": own["label"],
            "id": "hatch",
        }
        lines = [
            {
                "setting": _setting(point.method),
                "chance": point.chance,
                "widths": ["–" if point.width is None else f"±{number_text(100 * point.width, 2)}%"],
                "refusal": point.refusal,
                "address": _address(point.method),
                "is_chosen": point.method == chosen,
            }
            for point in points
        ]
        return self.site.fragment(
            "frontier",
            pictures=[charts.frontier_chart(drawn, 0.0, words)] if drawn else [],
            has_counts=False,
            sentence=said["sentence"].format(best="").strip(),
            points=lines,
        )

    def _form_values(self) -> dict[str, Any]:
        """What the recipe says, as the form shows it."""
        recipe = self.workspace.any_recipe()
        if not isinstance(recipe, GraphRecipe):
            return {}
        said = {name: getattr(recipe.graph, name) or "" for name in (*_SIDES, "repeats", "dangling")}
        values = recipe.graph.values
        return said | {"values": "" if values is None else ", ".join(values) or "-"} | recipe.parameters

    @or_show("graph")
    def choose(self, request: Request, form: Form) -> Response:
        """Read the graph, so that a mistake is reported at once, and keep it in the recipe."""
        places: dict[str, Any] = {side: text for side in _SIDES if (text := str(form.get(side, "")).strip())}
        if "edges" not in places or len(places) == 2:
            raise InputError(self.site.texts["graph"]["none"])
        reading: dict[str, Any] = {name: text for name in ("repeats", "dangling") if (text := str(form.get(name, "")))}
        tables: dict[str, Any] = {side: absolute(place) for side, place in places.items()}
        source = GraphSource(**tables, **reading, values=_values(form))
        chosen = {name: value for name in ("k", "l", "order", "hubs") if (value := _parameter(form, name)) != ""}
        before = self.workspace.any_recipe()
        recipe = GraphRecipe(
            graph=source,
            output=self.workspace.free_output(),
            method={"name": METHOD, **chosen},
            ledger=str(self.workspace.folder / "ledger.json") if before is None else before.ledger,
        )
        recipe.build_method()
        self.workspace.source(recipe)
        self.workspace.change(str(form.get("version", "")), recipe)
        return go("/publish" if form.get("action") == "next" else "/graph")


def _setting(method: SafeGrouping) -> str:
    return f"k = {method.k}, l = {method.l}, {method.order}"


def _address(method: SafeGrouping) -> str:
    """The form with a point's sizes and order."""
    return f"/graph?{urlencode({'k': method.k, 'l': method.l, 'order': method.order})}#how-much"


def _values(form: Form) -> list[str] | None:
    """Columns of the edges to publish with them; a dash leaves all others out."""
    names = [name.strip() for name in str(form.get("values", "")).split(",") if name.strip()]
    return [] if names == ["-"] else names or None


def _parameter(form: Form, name: str) -> int | str:
    """A whole number, or the text that the method refuses by name."""
    text = str(form.get(name, "")).strip()
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else text
