"""`hedgerow app`: the local web application."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import click

from hedgerow.cli.output import Output, put_json
from hedgerow.errors import InputError


@click.command()
@click.argument("source", required=False, type=click.Path())
@click.option(
    "--folder",
    type=Output("folder"),
    default="hedgerow-app",
    show_default=True,
    help="folder for the recipe and the releases",
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="port to use; by default a free one")
@click.option("--no-browser", is_flag=True, help="print the address without opening a browser")
def app(source: str | None, folder: Path, port: int, no_browser: bool) -> None:
    """Open the web application on a table, a recipe.toml or a bundle, on this machine alone; Ctrl-C ends it.

    \b
    hedgerow app adult.csv
    hedgerow app work/recipe.toml
    hedgerow app out/
    """
    if missing := [name for name in ("starlette", "uvicorn", "python_multipart") if find_spec(name) is None]:
        raise InputError(f"The app needs the package '{missing[0]}'; install it with: pip install hedgerow[web]")
    from hedgerow.app.serve import open_workspace, serve

    workspace = open_workspace(source, str(folder))

    def say(address: str) -> None:
        put_json(lambda: {"address": address, "folder": str(workspace.folder)})
        click.echo(f"hedgerow app works in {workspace.folder}; Ctrl-C ends it. Open in a browser:\n{address}")

    serve(workspace, port=port, browse=not no_browser, say=say)
