"""The command line in real shells: completion in bash, zsh and fish, and `man hedgerow`."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SHELLS = {
    "bash": (
        "source ./script; COMP_WORDS=({words}); COMP_CWORD={last}; _hedgerow_completion hedgerow; "
        "printf '%s\\n' \"${{COMPREPLY[@]}}\""
    ),
    "zsh": (
        'compdef() {{ }}; _describe() {{ local -a found; found=("${{(@P)3}}"); print -l -- "${{found[@]}}"; }}; '
        "compadd() {{ print -l -- $completions; }}; source ./script; words=({words}); CURRENT={next}; "
        "_hedgerow_completion"
    ),
    "fish": "source ./script; complete -C '{line}'",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a command `hedgerow` and the scripts of all shells."""
    folder = tmp_path_factory.mktemp("shells")
    command = folder / "hedgerow"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m hedgerow "$@"\n')
    command.chmod(0o755)
    return folder


@pytest.mark.parametrize(("line", "expected", "never"), [
    ("hedgerow que", "query", "verify"),
    ("hedgerow query --exp", "--explain", "--json"),
    ("hedgerow graph ver", "verify", "publish"),
    ("hedgerow completion fi", "fish", "bash"),
    ("hedgerow ledger l.json hist", "history", "forget"),
], ids=lambda value: value.replace(" ", "_"))  # fmt: skip
@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_completes(place, shell, line, expected, never):
    """What the shell offers for a line that is not finished."""
    if shutil.which(shell) is None:
        pytest.skip(f"missing tool: {shell}")
    folder = place / shell
    folder.mkdir(exist_ok=True)
    run = {"cwd": folder, "capture_output": True, "text": True, "check": True, "timeout": 60}
    environment = os.environ | {"PATH": f"{place}:{os.environ['PATH']}", "HOME": str(folder)}
    script = subprocess.run([place / "hedgerow", "completion", shell], env=environment, **run).stdout
    (folder / "script").write_text(script)
    words = line.split()
    given = {"words": " ".join(words), "last": len(words) - 1, "next": len(words), "line": line}
    flags = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    done = subprocess.run([shell, *flags, "-c", SHELLS[shell].format(**given)], env=environment, **run)
    offered = {entry.split("\t")[0].split(":")[0] for entry in done.stdout.split("\n")}
    assert expected in offered, done.stderr
    assert never not in offered


def test_man_hedgerow(place):
    """`man` finds and shows the page of the command and of each verb."""
    if shutil.which("man") is None or shutil.which("groff") is None:
        pytest.skip("missing tool: man and groff")
    folder = place / "man" / "man1"
    subprocess.run([place / "hedgerow", "man", str(folder)], check=True, capture_output=True)
    for name, word in (("hedgerow", "COMMANDS"), ("hedgerow-publish", "--method"), ("hedgerow-graph-query", "--json")):
        environment = os.environ | {"MANPATH": str(folder.parent), "MANWIDTH": "100", "MAN_KEEP_FORMATTING": ""}
        done = subprocess.run(["man", "-P", "cat", name], capture_output=True, text=True, check=True, env=environment)
        plain = done.stdout.replace("\u2010", "-")
        assert word in plain, name
        assert "NAME" in plain
    assert Path(folder / "hedgerow-ledger.1").is_file()
