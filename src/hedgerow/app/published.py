"""Pages about releases: what is claimed and verified, questions, attacks, the certificate, several side by side.

They need the bundle alone. The original, where it is still there, serves the owner: guesses are checked against it, and
the truth is drawn beside answers if that is turned on.
"""

from __future__ import annotations

import base64
import hashlib
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import pyarrow as pa
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hedgerow.app import charts
from hedgerow.app.jobs import Job
from hedgerow.app.release_contents import (
    attack_lines,
    error_bars,
    example_formulas,
    example_questions,
    facts_of,
    graph_answers,
    graph_attacks,
    group_sizes,
    regression_lines,
    score_lines,
    truths_of,
)
from hedgerow.app.site import Form, Site, go
from hedgerow.errors import HedgerowError
from hedgerow.release import Release
from hedgerow.report.answer_text import explanation

if TYPE_CHECKING:
    from hedgerow.graph import GroupedGraph


_LEAST_TO_COMPARE = 2
_BASE = "/releases/{name}"


class ReleasePages:
    """Everything below /releases, and /compare."""

    def __init__(self, site: Site) -> None:
        self.site, self.workspace = site, site.workspace

    def routes(self) -> list[Route]:
        """The addresses of these pages."""
        site = self.site
        return [
            site.get("/releases", self.releases),
            site.get(_BASE, self.release),
            site.get(f"{_BASE}/ask", self.ask),
            site.get(f"{_BASE}/attacks", self.attacks),
            site.post(f"{_BASE}/attacks", self.start_attacks),
            site.get(f"{_BASE}/certificate", self.certificate),
            site.get(f"{_BASE}/certificate.html", self.certificate_page),
            site.get(f"{_BASE}/certificate.json", self.certificate_data),
            site.get("/compare", self.compare),
            site.post("/compare", self.start_comparing),
        ]

    def _open(self, request: Request) -> tuple[str, Release | GroupedGraph]:
        name = request.path_params["name"]
        if name not in self.workspace.releases():
            raise HTTPException(404)
        return name, self.workspace.open_release(name)

    def _page(self, template: str, request: Request, name: str, **more: Any) -> Response:
        tabs = [(tab, f"/releases/{quote(name)}{address}") for tab, address in _TABS]
        return self.site.page(template, request, name=name, base=f"/releases/{quote(name)}", tabs=tabs, **more)

    def releases(self, request: Request) -> Response:
        """All bundles of the folder."""
        found = []
        for name in self.workspace.releases():
            try:
                release, problem = self.workspace.open_release(name), ""
            except HedgerowError as error:
                release, problem = None, str(error)
            promise = "" if release is None else release.guarantee.promise
            found.append({"name": name, "base": f"/releases/{quote(name)}", "promise": promise, "problem": problem})
        return self.site.page("releases", request, releases=found)

    def release(self, request: Request) -> Response:
        """What is claimed, beside what was re-derived from the bytes."""
        name, release = self._open(request)
        sizes = group_sizes(release)
        return self._page(
            "release",
            request,
            name,
            guarantee=release.guarantee,
            checks=release.verify().checks,
            facts=facts_of(release, self.site.texts["release"]["facts"]),
            sizes=[(name, count, charts.share_bar(count / max(c for _, c in sizes))) for name, count in sizes],
            folder=str(self.workspace.releases()[name]),
        )

    # Questions

    def ask(self, request: Request) -> Response:
        """A question or a regression, its answers as digits and as error bars."""
        name, release = self._open(request)
        asked = request.query_params
        question, formula = asked.get("q", "").strip(), asked.get("formula", "").strip()
        shown: dict[str, Any] = {"answers": None, "explained": None, "regression": None, "problem": "", "truth": ""}
        try:
            if question and isinstance(release, Release):
                shown |= self._answer(release, question, asked.get("truth") == "1", asked.get("why") == "1")
            elif question and not isinstance(release, Release):
                shown["answers"] = graph_answers(release, question)
            elif formula and isinstance(release, Release):
                shown["regression"] = regression_lines(release, formula, asked.get("where", "").strip())
        except HedgerowError as error:
            shown["problem"] = str(error)
        return self._page(
            "ask",
            request,
            name,
            status=422 if shown["problem"] else 200,
            question=question,
            formula=formula,
            where=asked.get("where", ""),
            with_truth=asked.get("truth") == "1",
            may_show_truth=isinstance(release, Release) and self._original_of(release) is not None,
            has_bounds=not isinstance(release, Release) or not release.form.is_altered,
            suppressed=release.rows.suppressed if isinstance(release, Release) else 0,
            examples=example_questions(release),
            formulas=example_formulas(release),
            why=f"?{urlencode({'q': question, 'why': '1', 'truth': '1' if asked.get('truth') == '1' else ''})}",
            **shown,
        )

    def _answer(self, release: Release, question: str, with_truth: bool, why: bool) -> dict[str, Any]:
        from hedgerow.query import connect

        session = connect(release)
        result = session.sql(question)
        truths, said = None, ""
        original = self._original_of(release) if with_truth else None
        if original is not None:
            truths, said = truths_of(original, question, result), self.site.texts["ask"]["truth_shown"]
        return {
            "answers": error_bars(result, truths),
            "explained": explanation(release, session, question) if why else None,
            "truth": said,
        }

    def _original_of(self, release: Release) -> pa.Table | None:
        """The rows behind a release, if the present recipe's table has just these; None otherwise."""
        from hedgerow.methods.method import prepare

        try:
            table, recipe = self.workspace.table(), self.workspace.recipe()
            if table is None or recipe is None or not set(release.columns.all) <= set(table.names):
                return None
            if table.num_rows != release.rows.input:
                return None
            if not release.rows.suppressed:
                return table.arrow
            kept = prepare(table, recipe.build_schema(table.names), None, needs_sensitive=False).table
            return kept.arrow if kept.num_rows == release.rows.published else None
        except HedgerowError:
            return None

    # Attacks

    def attacks(self, request: Request) -> Response:
        """What each adversary reaches, beside guessing and the promise."""
        from hedgerow.attack.finding import NOTHING_TO_DO

        name, release = self._open(request)
        job = self.site.jobs.last(f"attack {name}")
        report = job.result if job is not None and job.state == "done" else None
        return self._page(
            "attacks",
            request,
            name,
            job=job,
            words="" if job is None else self.site.words(job),
            report=report if isinstance(release, Release) else None,
            graph=report if not isinstance(release, Release) else None,
            lines=[] if report is None or not isinstance(release, Release) else attack_lines(report),
            may_check=isinstance(release, Release) and self._original_of(release) is not None,
            nothing_to_do=NOTHING_TO_DO,
        )

    def start_attacks(self, request: Request, form: Form) -> Response:
        """Let the adversaries try, in the background."""
        from hedgerow import front

        name, release = self._open(request)
        checked = bool(form.get("original"))

        def work(job: Job) -> Any:
            if not isinstance(release, Release):
                return graph_attacks(release)
            return front.attack(release, self._original_of(release) if checked else None, progress=job.report)

        self.site.stop_previews()
        self.site.jobs.start(Job(f"attack {name}", work, f"/releases/{quote(name)}/attacks"))
        return go(f"/releases/{quote(name)}/attacks")

    # The certificate

    def certificate(self, request: Request) -> Response:
        """Title and publisher, and the way to the certificate itself."""
        name, _ = self._open(request)
        given = {key: request.query_params.get(key, "") for key in ("title", "publisher")}
        issued = self._issue(request)
        return self._page(
            "certificate_frame",
            request,
            name,
            given=given,
            issued=issued,
            query=urlencode({k: v for k, v in given.items() if v}),
        )

    def certificate_page(self, request: Request) -> Response:
        """The certificate as it can be handed on; its own policy allows its own style and nothing else."""
        from hedgerow.certificate.page import page

        text = page(self._issue(request))
        styles = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
        hashes = " ".join(
            f"'sha256-{base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()}'" for style in styles
        )
        policy = f"default-src 'none'; style-src {hashes}; base-uri 'none'; frame-ancestors 'none'"
        return Response(text, headers={"content-type": "text/html; charset=utf-8", "content-security-policy": policy})

    def certificate_data(self, request: Request) -> Response:
        """The certificate as data."""
        from hedgerow.certificate.model import encode

        return Response(encode(self._issue(request)), headers={"content-type": "application/json"})

    def _issue(self, request: Request) -> Any:
        from hedgerow.front import certify

        name, _ = self._open(request)
        title, publisher = (request.query_params.get(key, "") for key in ("title", "publisher"))
        return self.workspace.remember(
            name, ("certificate", title, publisher), lambda place: certify(place, title=title, publisher=publisher)
        )

    # Several

    def compare(self, request: Request, problem: str = "") -> Response:
        """The same random questions to several releases."""
        job = self.site.jobs.last("compare")
        scores = job.result if job is not None and job.state == "done" else None
        return self.site.page(
            "compare",
            request,
            status=422 if problem else 200,
            problem=problem or (job.problem if job is not None else ""),
            names=list(self.workspace.releases()),
            job=job,
            words="" if job is None else self.site.words(job),
            lines=[] if scores is None else score_lines(scores),
        )

    def start_comparing(self, request: Request, form: Form) -> Response:
        """Ask the chosen releases, in the background."""
        from hedgerow.front import compare

        known = self.workspace.releases()
        chosen = {name: known[name] for place, name in enumerate(known) if form.get(f"release-{place}")}
        if len(chosen) < _LEAST_TO_COMPARE:
            return self.compare(request, self.site.texts["compare"]["few"])

        def work(job: Job) -> Any:
            job.report("asking", 0.1)
            return compare(chosen)

        self.site.stop_previews()
        self.site.jobs.start(Job("compare", work, "/compare"))
        return go("/compare")


_TABS = (("overview", ""), ("ask", "/ask"), ("attacks", "/attacks"), ("certificate", "/certificate"))
