"""The owner's pages: which table, what its columns mean, and what is promised."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pyarrow as pa
from markupsafe import Markup
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hedgerow.app import charts
from hedgerow.app.preview import Preview
from hedgerow.app.site import Form, Site, go, or_show
from hedgerow.errors import HedgerowError, InputError, ParameterError, SchemaError
from hedgerow.methods.registry import METHODS, parameters_of, read_parameters
from hedgerow.recipe import Recipe, Roles
from hedgerow.schema import suggest
from hedgerow.table.read import READERS, read_table

if TYPE_CHECKING:
    from hedgerow.table import Table

_ROWS_SHOWN = 8
_READING = ("header", "delimiter", "decimal", "thousands", "encoding", "quote", "sheet", "missing_codes", "labels")
ROLES = tuple(field.name for field in msgspec.structs.fields(Roles))


class OwnerPages:
    """Table, roles, promise."""

    def __init__(self, site: Site) -> None:
        self.site, self.workspace, self.preview = site, site.workspace, Preview(site)

    def routes(self) -> list[Route]:
        """The addresses of these pages."""
        site = self.site
        return [
            site.get("/table", self.table),
            site.post("/table", self.choose_table),
            site.post("/table/upload", self.upload_table),
            site.get("/roles", self.roles),
            site.post("/roles", self.choose_roles),
            site.get("/promise", self.promise),
            site.post("/promise", self.choose_promise),
            *self.preview.routes(),
        ]

    # The table

    def table(self, request: Request, problem: str = "", given: Form | None = None) -> Response:
        """What was read, and how; cells only if the owner asks to see some."""
        recipe, found, reading = self.workspace.recipe(), None, {}
        if recipe is not None:
            reading = recipe.reading
            try:
                found = self.workspace.table()
            except HedgerowError as error:
                problem = problem or str(error)
        shown = found is not None and request.query_params.get("preview") == "1"
        return self.site.page(
            "table",
            request,
            problem=problem,
            recipe=recipe,
            table=found,
            columns=[] if found is None else self.columns(),
            found_out=[] if found is None else list(found.reading.items()),
            preview=_preview(found) if shown and found is not None else None,
            path=str(given.get("path", "")) if given else "" if recipe is None else recipe.table,
            reading={name: _field(_reading(given).get(name) if given else reading.get(name)) for name in _READING},
            endings=", ".join(READERS),
        )

    def columns(self) -> list[dict[str, Any]]:
        """What was seen of each column, with a suggested role."""
        found = self.workspace.derive("suggestions", suggest)
        kinds = self.site.texts["types"]
        return [
            {
                "name": one.column,
                "type": kinds.get(re.sub(r"[\[(].*", "", one.type), one.type),
                "distinct": one.distinct,
                "missing": one.missing_share,
                "bar": charts.share_bar(one.missing_share),
                "role": str(one.role),
                "reason": one.reason,
            }
            for one in found or ()
        ]

    @or_show("table")
    def choose_table(self, request: Request, form: Form) -> Response:
        """Take a table by its path, with options of reading."""
        before = self.workspace.recipe()
        named = str(form.get("path", "")).strip() or (before.table if before is not None else "")
        if not named:
            raise InputError(self.site.texts["table"]["none"])
        return self._take(absolute(named), str(form.get("version", "")), _reading(form))

    @or_show("table")
    def upload_table(self, request: Request, form: Form) -> Response:
        """Keep an uploaded file in the workspace's folder and take it as the table."""
        file = form.get("file")
        if not isinstance(file, UploadFile) or not file.filename:
            raise InputError(self.site.texts["table"]["none"])
        self.workspace.require(str(form.get("version", "")))
        place = _keep(file, self.workspace.folder)
        try:
            return self._take(str(place), str(form.get("version", "")), _reading(form))
        except BaseException:
            place.unlink()
            raise

    def _take(self, path: str, version: str, reading: dict[str, Any]) -> Response:
        table = read_table(path, **reading)
        recipe, before = self.workspace.start(path, reading), self.workspace.recipe()
        if before is not None and set(_role_columns(before.roles)) <= set(table.names):
            recipe = msgspec.structs.replace(before, table=path, reading=reading)
        self.workspace.change(version, recipe)
        return go("/table")

    # Roles

    def roles(self, request: Request, problem: str = "", given_form: Form | None = None) -> Response:
        """A role for each column."""
        recipe = self.workspace.recipe()
        if recipe is None:
            return go("/table")
        columns, given = self.columns(), roles_by_column(recipe)
        for place, column in enumerate(columns):
            column["given"] = given.get(column["name"], recipe.others or "")
            column["policy"] = recipe.missing.get(column["name"], "")
            column["hierarchy"] = recipe.hierarchies.get(column["name"], "")
            if given_form:
                names = (("given", "role"), ("policy", "missing"), ("hierarchy", "hierarchy"))
                column |= {key: str(given_form.get(f"{field}-{place}", "")) for key, field in names}
        without = [column["name"] for column in columns if not column["given"]]
        return self.site.page(
            "roles",
            request,
            problem=problem,
            columns=columns,
            without=without,
            roles=ROLES,
            examples=_examples(columns),
            uniques=self._uniques([column["name"] for column in columns if column["given"] == "quasi"]),
        )

    def _uniques(self, quasi: list[str]) -> list[dict[str, Any]]:
        """How many people are unique by ever fewer quasi-identifiers; the most telling column goes first."""
        if not quasi:
            return []
        steps = self.workspace.derive(("uniques", tuple(quasi)), lambda table: _unique_shares(table, quasi))
        return [
            {
                "names": names,
                "gone": gone,
                "share": share,
                "bar": charts.share_bar(share),
            }
            for names, gone, share in steps
        ]

    @or_show("roles")
    def choose_roles(self, request: Request, form: Form) -> Response:
        """Give columns their roles; fields are numbered, since names of columns can be anything."""
        recipe = self._recipe()
        columns = self.columns()
        chosen: dict[str, list[str]] = {role: [] for role in ROLES}
        missing: dict[str, str] = {}
        trees: dict[str, str] = {}
        for place, column in enumerate(columns):
            role = str(form.get(f"role-{place}", ""))
            if form.get("action") == "suggest" and not role:
                role = column["role"]
            if role in chosen:
                chosen[role].append(column["name"])
            if policy := str(form.get(f"missing-{place}", "")):
                missing[column["name"]] = policy
            if tree := str(form.get(f"hierarchy-{place}", "")).strip():
                trees[column["name"]] = str(Path(tree).expanduser().absolute())
        changed = msgspec.structs.replace(
            recipe, roles=Roles(**chosen), others=None, missing=missing, hierarchies=trees
        )
        if any(chosen.values()):
            changed.build_schema(tuple(column["name"] for column in columns))
        self.workspace.change(str(form.get("version", "")), changed)
        return go("/promise" if form.get("action") == "next" else "/roles")  # which says what is missing

    # Promise

    def promise(self, request: Request, problem: str = "", given_form: Form | None = None) -> Response:
        """Which methods there are, what each hides, and the parameters of the chosen one."""
        recipe = self.workspace.recipe()
        if recipe is None:
            return go("/table")
        if blocked := self.obstacle(recipe):
            return self.roles(request, blocked)
        fields = given_form or request.query_params
        asked = str(fields.get("method", ""))
        name = asked if asked in METHODS else str(recipe.method.get("name", ""))
        given = (
            {key: _field(value) for key, value in recipe.parameters.items()}
            if name == recipe.method.get("name")
            else {}
        )
        given |= {key[2:]: str(value) for key, value in fields.items() if key.startswith("p-")}
        why_not, job = self._why_not(recipe), self.preview.current(recipe)
        return self.site.page(
            "promise",
            request,
            problem=problem,
            recipe=recipe,
            methods=[
                {"name": method, "words": self.site.texts["methods"][method], "why_not": why_not.get(method, "")}
                for method in sorted(METHODS, key=lambda method: list(self.site.texts["methods"]).index(method))
            ],
            chosen=name,
            job=job,
            words="" if job is None else self.site.words(job),
            picture=None if job is None else Markup(self.preview.render_points(recipe, job)),
            parameters=[
                {"name": one.name, "help": one.help, "required": one.required, "is_bool": one.type == "bool",
                 "default": _field(one.default), "value": given.get(one.name, "")}
                for one in (parameters_of(name) if name else ()) if one.name != "knowledge"
            ],
        )  # fmt: skip

    def obstacle(self, recipe: Recipe) -> str:
        """Say why there is nothing to promise yet."""
        table = self.workspace.table()
        assert table is not None
        given = roles_by_column(recipe)
        without = [name for name in table.names if name not in given] if recipe.others is None else []
        if without:
            return str(self.site.texts["roles"]["blocked"]).format(count=len(without))
        return ""

    def _why_not(self, recipe: Recipe) -> dict[str, str]:
        """Methods that the columns do not allow, and why; what can be found out only by publishing is refused then."""
        said = self.site.texts["why_not"]
        found: dict[str, str] = self.workspace.derive(
            ("why", msgspec.json.encode((recipe.roles, recipe.hierarchies))),
            lambda table: _refusals(table, recipe, said),
        )
        return found

    @or_show("promise")
    def choose_promise(self, request: Request, form: Form) -> Response:
        """Take a method and its parameters."""
        recipe, name = self._recipe(), str(form.get("method", ""))
        if name not in METHODS:
            raise ParameterError(self.site.texts["promise"]["none"])
        known = {one.name: one for one in parameters_of(name)}
        given = {key: text for key in known if (text := str(form.get(f"p-{key}", "")).strip())}
        method = {"name": name, **{key: _parameter(known[key].type, text) for key, text in given.items()}}
        changed = msgspec.structs.replace(recipe, method=method)
        read_parameters(name, changed.parameters)
        changed.build_method()
        self.workspace.change(str(form.get("version", "")), changed)
        return go("/publish" if form.get("action") == "next" else "/promise")

    def _recipe(self) -> Recipe:
        recipe = self.workspace.recipe()
        if recipe is None:
            raise InputError(self.site.texts["table"]["none"])
        return recipe


def absolute(named: str) -> str:
    """A table as the recipe names it: a path from the root, or the address of a database as it is."""
    return named if "://" in named or named.startswith("duckdb:") else str(Path(named).expanduser().absolute())


def _preview(table: Table) -> list[list[str]]:
    """The first rows, for the owner's screen alone."""
    rows = table.arrow.slice(0, _ROWS_SHOWN).to_pylist()
    return [["" if cell is None else str(cell) for cell in row.values()] for row in rows]


def _field(value: object) -> str:
    """A value as a form shows it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _parameter(kind: str, text: str) -> Any:
    """A parameter as a recipe writes it: whole numbers and truth values as such, the rest as text."""
    if kind.split("|")[0].strip() == "bool" and text in ("true", "false"):
        return text == "true"
    if re.fullmatch(r"-?[0-9]{1,15}", text):
        return int(text)
    return text


def _reading(form: Form) -> dict[str, Any]:
    given = {name: str(form.get(name, "")) for name in _READING}
    found: dict[str, Any] = {name: text for name, text in given.items() if text.strip() or text == " "}
    if "header" in found:
        found["header"] = found["header"] == "true"
    if "labels" in found:
        found["labels"] = True
    if "missing_codes" in found:
        found["missing_codes"] = [code.strip() for code in found["missing_codes"].split(",") if code.strip()]
    return found


def _keep(file: UploadFile, folder: Path) -> Path:
    """Write an uploaded file under a harmless name that is not taken."""
    last = re.split(r"[/\\]", file.filename or "")[-1]
    name = re.sub(r"[^\w.() -]", "_", last).lstrip(".-_ ")[-100:] or "table.csv"
    place, number = folder / name, 2
    while place.exists() or place.is_symlink():
        place, number = folder / f"{Path(name).stem}-{number}{Path(name).suffix}", number + 1
    try:
        with place.open("xb") as kept:
            while chunk := file.file.read(1 << 20):
                kept.write(chunk)
    except OSError as error:
        place.unlink(missing_ok=True)
        raise InputError(f"The file cannot be kept: {error.strerror}.") from None
    return place


def _role_columns(roles: Roles) -> list[str]:
    return [name for names in msgspec.to_builtins(roles).values() for name in names]


def roles_by_column(recipe: Recipe) -> dict[str, str]:
    """The role of each column that the recipe names."""
    return {name: role for role, names in msgspec.to_builtins(recipe.roles).items() for name in names}


def _examples(columns: list[dict[str, Any]]) -> dict[str, str]:
    """For each role a column of this very table that has it, or would."""
    found: dict[str, str] = {}
    for column in sorted(columns, key=lambda column: not column["given"]):
        found.setdefault(column["given"] or column["role"], column["name"])
    return found


def _unique_shares(table: Table, quasi: list[str]) -> list[tuple[int, str, float]]:
    """For all quasi-identifiers, then without the most telling ones: how many are left, which went, share unique."""
    from hedgerow.utility.risk import class_codes

    order = sorted(quasi, key=lambda name: len(table.encode(name).domain))
    classes, shares = np.zeros(table.num_rows, np.int64), []
    for name in order:
        classes = class_codes([pa.array(classes), table.arrow.column(name)])
        sizes = np.bincount(classes)
        shares.append(float((sizes == 1).sum()) / max(table.num_rows, 1))
    return [
        (count, order[count] if count < len(order) else "", shares[count - 1]) for count in range(len(order), 0, -1)
    ]


def _refusals(table: Table, recipe: Recipe, said: dict[str, str]) -> dict[str, str]:
    from hedgerow.exact import column_line

    sensitive = recipe.roles.sensitive
    found: dict[str, str] = {}
    needing = [name for name in METHODS if name not in ("noise", "microaggregation", "walk")]
    if not sensitive:
        return dict.fromkeys(needing, said["no_sensitive"])
    encoded = table.encode(sensitive[0])
    counts = encoded.counts()[: len(encoded.domain)]
    if len(counts) and counts.sum() < 2 * counts.max():
        share = f"{counts.max() / counts.sum():.0%}"
        found |= dict.fromkeys(("anatomy", "permutation", "m-invariant"), said["frequent"].format(share=share))
    try:
        column_line(encoded.domain, sensitive[0])
    except SchemaError:
        found |= dict.fromkeys(("ke", "proximity", "rank-swap"), said["no_numbers"])
    if not recipe.roles.quasi:
        found |= dict.fromkeys(("mondrian", "full-domain"), said["no_quasi"])
    if not any(name in recipe.hierarchies for name in sensitive):
        found |= dict.fromkeys(("personal",), said["no_tree"])
    return found
