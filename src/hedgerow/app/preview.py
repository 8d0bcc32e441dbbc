"""What each promise would cost: trial releases in memory, drawn a point at a time, never kept and never recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import msgspec
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from hedgerow.app import charts
from hedgerow.app.jobs import Job
from hedgerow.app.site import Form, Site, go
from hedgerow.arrays import is_numeric
from hedgerow.digits import number_text
from hedgerow.errors import HedgerowError
from hedgerow.methods.frontier import FrontierPoint, Setting, frontier, recommend, settings_for

if TYPE_CHECKING:
    from hedgerow.recipe import Recipe
    from hedgerow.table import Table


class Preview:
    """The frontier of the present table and roles: one job, its points as they come."""

    def __init__(self, site: Site) -> None:
        self.site, self.workspace = site, site.workspace

    def routes(self) -> list[Route]:
        """The addresses of the picture alone, and of drawing it again."""
        return [self.site.get("/promise/frontier", self.picture), self.site.post("/promise/frontier", self.restart)]

    def picture(self, request: Request) -> Response:
        """The picture with its table, without the page around it."""
        recipe, job = self.workspace.recipe(), self.site.jobs.last("frontier")
        if recipe is None or job is None or job.key != _key(recipe):
            return HTMLResponse("")
        return HTMLResponse(self.render_points(recipe, job))

    def restart(self, request: Request, form: Form) -> Response:
        """Draw the picture again."""
        recipe = self.workspace.recipe()
        if recipe is not None:
            self.site.stop_previews()
            self._start(recipe, [])
        return go("/promise")

    def current(self, recipe: Recipe) -> Job | None:
        """The job that draws for the present recipe; started where there is none, and where the chosen point is new."""
        if not recipe.roles.sensitive:
            return None
        job = self.site.jobs.last("frontier")
        if job is None or job.key != _key(recipe):
            self.site.stop_previews()
            return self._start(recipe, [])
        chosen = _recipe_setting(recipe)
        is_known = chosen is None or any(_same(point.setting, chosen) for point in job.parts)
        if job.state == "done" and not is_known:
            return self._start(recipe, job.parts)
        return job

    def _start(self, recipe: Recipe, known: list[FrontierPoint]) -> Job:
        chosen = _recipe_setting(recipe)

        def work(job: Job) -> None:
            table = self.workspace.table()
            assert table is not None
            schema = recipe.build_schema(table.names)
            settings = [] if known else settings_for(table, schema)
            if chosen is not None and not any(_same(chosen, other) for other in settings):
                settings.insert(0, chosen)
            for place, point in enumerate(
                frontier(table, schema, settings=settings, cancelled=lambda: job.is_stopping)
            ):
                job.step, job.share = str(point.setting), (place + 1) / len(settings)
                job.add(point)
            job.report(job.step, 1.0)

        return self.site.jobs.start(Job("frontier", work, "/promise", key=_key(recipe), parts=list(known)))

    def render_points(self, recipe: Recipe, job: Job) -> str:
        """Picture, sentence and table of the points so far."""
        points: list[FrontierPoint] = list(job.parts)
        chosen, said = _recipe_setting(recipe), self.site.texts["frontier"]
        advice = recommend(points)
        best = None if advice is None else advice.point
        least = self.workspace.derive(("least chance", recipe.roles.sensitive[0]), lambda t: _least(t, recipe))
        pictures, questions = [], self._questions(recipe)
        for kind, question in questions.items():
            drawn = [_chart_point(point, chosen, point is best, kind) for point in points if _is_drawn(point, kind)]
            words = {key: said[key] for key in ("x", "infeasible", "begin")} | {"id": f"hatch-{kind}"}
            words |= {key: said[key].format(question=question) for key in ("y", "label")}
            pictures += [charts.frontier_chart(drawn, least, words)] if drawn else []
        begin = ""
        if advice is not None:
            begin = said["best"].format(setting=advice.point.setting, reasons="; ".join(advice.reasons[:2]))
        return self.site.fragment(
            "frontier",
            pictures=pictures,
            has_counts=len(questions) > 1,
            sentence=said["sentence"].format(best=begin),
            points=[_line(point, chosen, point is best) for point in _order_points(points)],
        )

    def _questions(self, recipe: Recipe) -> dict[str, str]:
        """What widths are of, by the point's field: averages of numbers, and counts of everything."""
        table = self.workspace.table()
        assert table is not None
        name = recipe.roles.sensitive[0]
        kind = table.arrow.schema.field(name).type
        return {"width": f"AVG({name})", "count_width": "COUNT"} if is_numeric(kind) else {"width": "COUNT"}


def _key(recipe: Recipe) -> bytes:
    """What a picture depends on."""
    parts = (recipe.table, recipe.reading, recipe.roles, recipe.others, recipe.missing, recipe.hierarchies)
    return msgspec.json.encode(parts)


def _recipe_setting(recipe: Recipe) -> Setting | None:
    """The recipe's own setting, as the frontier writes it."""
    if not recipe.method:
        return None
    try:
        recipe.build_method()
    except HedgerowError:
        return None
    return Setting(recipe.method_name, dict(recipe.parameters))


def _is_drawn(point: FrontierPoint, kind: str) -> bool:
    return not point.refusal and point.likeliest is not None and getattr(point, kind) is not None


def _series(point: FrontierPoint) -> str:
    """A method and its variant: parameters that are not numbers distinguish the lines of the picture."""
    words = [
        str(value) if isinstance(value, str) else key
        for key, value in point.setting.parameters.items()
        if value is True or (isinstance(value, str) and not value.replace(".", "").isdigit())
    ]
    return " ".join([point.setting.method, *words])


def _address(point: FrontierPoint) -> str:
    """The form with a point's method and parameters."""
    given = {f"p-{key}": str(value).lower() if value in (True, False) and isinstance(value, bool) else str(value)
             for key, value in point.setting.parameters.items()}  # fmt: skip
    return f"/promise?{urlencode({'method': point.setting.method} | given)}#how-much"


def _chart_point(point: FrontierPoint, chosen: Setting | None, is_best: bool, kind: str) -> charts.ChartPoint:
    assert point.likeliest is not None
    return charts.ChartPoint(
        _series(point),
        str(point.setting),
        point.likeliest,
        getattr(point, kind) / 2,
        _address(point),
        chosen is not None and _same(point.setting, chosen),
        is_best,
    )


def _same(one: Setting, other: Setting) -> bool:
    texts = [{key: str(value) for key, value in setting.parameters.items()} for setting in (one, other)]
    return one.method == other.method and texts[0] == texts[1]


def _order_points(points: list[FrontierPoint]) -> list[FrontierPoint]:
    """The narrowest first, refused ones last."""
    far = float("inf")
    return sorted(points, key=lambda point: (bool(point.refusal), far if point.width is None else point.width))


def _line(point: FrontierPoint, chosen: Setting | None, is_best: bool) -> dict[str, Any]:
    return {
        "setting": str(point.setting),
        "chance": point.likeliest,
        "widths": [
            "–" if width is None else f"±{number_text(50 * width, 2)}%" for width in (point.width, point.count_width)
        ],
        "refusal": point.refusal,
        "address": _address(point),
        "is_chosen": chosen is not None and _same(point.setting, chosen),
        "is_best": is_best,
    }


def _least(table: Table, recipe: Recipe) -> float:
    """The share of the most frequent value: in some group it is at least as frequent."""
    encoded = table.encode(recipe.roles.sensitive[0])
    counts = encoded.counts()[: len(encoded.domain)]
    return float(counts.max() / counts.sum()) if len(counts) else 0.0
