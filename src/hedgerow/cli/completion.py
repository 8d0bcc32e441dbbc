"""`hedgerow completion`: the script that lets a shell complete verbs, options and file names."""

from __future__ import annotations

import click

from hedgerow.cli.output import put_json

_SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(_SHELLS))
def completion(shell: str) -> None:
    """Print the completion script of SHELL.

    \b
    hedgerow completion bash >> ~/.bashrc
    hedgerow completion zsh  >> ~/.zshrc
    hedgerow completion fish >> ~/.config/fish/config.fish
    """
    from click.shell_completion import get_completion_class

    from hedgerow.cli import main

    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"There is no completion for {shell}.")
    # The class's own `source` of bash runs bash to ask for its version; the text alone is wanted here.
    script = kind(main, {}, "hedgerow", "_HEDGEROW_COMPLETE").source_template % _names()
    put_json(lambda: {"shell": shell, "script": script})
    click.echo(script)


def _names() -> dict[str, str]:
    return {"complete_func": "_hedgerow_completion", "complete_var": "_HEDGEROW_COMPLETE", "prog_name": "hedgerow"}
