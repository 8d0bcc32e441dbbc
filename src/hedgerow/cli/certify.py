"""`hedgerow certify`: a page about a release that can be handed on, or a page checked against a release.

Exit code 0 says certified, or that the certificate fits; 1 that the bundle does not verify, or that it does not fit.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hedgerow.cli.output import Output, put_json
from hedgerow.cli.reading import pop_reading, reading_flags
from hedgerow.errors import BrokenPromise, BundleError, ParameterError

if TYPE_CHECKING:
    from hedgerow.certificate import Certificate


@click.command()
@click.argument("bundle", type=click.Path())
@click.option("--out", type=Output("folder"), default="certificate", show_default=True, help="folder for page and data")
@click.option("--internal", is_flag=True, help="the version for the owner only: it may hold what must not be published")
@click.option("--original", type=click.Path(), help="the table that was published; only with --internal or --check")
@click.option(
    "--ledger", type=click.Path(exists=True), help="your record of past releases; only with --internal --original"
)
@click.option("--title", default="", help="what the data are called, for the heading and the citation")
@click.option("--publisher", default="", help="who publishes them")
@click.option(
    "--check", "certificate_file", type=click.Path(), help="compare this certificate (.json) with BUNDLE; write nothing"
)
@reading_flags
def certify(
    bundle: str,
    out: Path,
    internal: bool,
    original: str | None,
    ledger: str | None,
    title: str,
    publisher: str,
    certificate_file: str | None,
    **flags: Any,
) -> None:
    """Verify BUNDLE and write a certificate: promise, checks, what is not promised, risks, costs, hashes, citation.

    \b
    hedgerow certify out/ --title "Salaries 2026" --publisher "Town of Elm" --out certificate/
    hedgerow certify out/ --internal --original table.csv --out private/
    hedgerow certify out/ --check certificate/certificate.json
    """
    reading = pop_reading(flags)
    if certificate_file is not None:
        _check(bundle, certificate_file, original, reading)
        return
    from hedgerow import certificate as certificates
    from hedgerow.certificate import Issuer
    from hedgerow.cli.show import console, progress_bar

    if not internal and (original is not None or ledger is not None):
        raise ParameterError(
            "--original and --ledger are for the internal version: add --internal, and keep it inside."
        )
    issuer = Issuer(title=title, publisher=publisher, issued=datetime.now(UTC).date().isoformat())
    try:
        with progress_bar() as progress:
            issued = certificates.certify(
                bundle,
                issuer=issuer,
                internal=internal,
                original=_table(original, reading),
                ledger=ledger,
                progress=progress,
            )
    except (BrokenPromise, BundleError) as error:
        click.secho(f"not certified: {error}", fg="red", err=True)
        sys.exit(1)
    page, data = certificates.write(issued, out)
    put_json(lambda: json.loads(data.read_bytes()))
    console().print(_summary(issued, page, data))


def _table(original: str | None, reading: dict[str, Any]) -> Any:
    from hedgerow.table import read_table

    return None if original is None else read_table(original, **reading).arrow


def _summary(certificate: Certificate, page: Path, data: Path) -> Any:
    from hedgerow.cli.show import facts

    title = "Certified, for internal use: do not publish" if certificate.version == "internal" else "Certified"
    seed = [("insecure", "made from a seed: for tests only")] if certificate.published.reproducible_insecure else []
    return facts(
        title,
        [
            ("promise", certificate.promise.promise),
            ("verified", f"{len(certificate.checks)} checks on the published bytes"),
            *seed,
            *_surest(certificate),
            ("manifest", certificate.bundle.manifest_sha256),
            ("page", page),
            ("data", data),
        ],
    )


def _surest(certificate: Certificate) -> list[tuple[str, str]]:
    risks = (*certificate.risks, *(certificate.internal.risks if certificate.internal else ()))
    return [(risk.adversary, f"right for {risk.rate:.1%}") for risk in risks]


def _check(bundle: str, certificate_file: str, original: str | None, reading: dict[str, Any]) -> None:
    from hedgerow import certificate as certificates
    from hedgerow.cli.show import progress_bar

    certificate = certificates.read(certificate_file)
    try:
        with progress_bar() as progress:
            differences = certificates.check(bundle, certificate, original=_table(original, reading), progress=progress)
    except (BrokenPromise, BundleError) as error:
        reason = str(error)
        put_json(lambda: {"fits": False, "differences": [], "reason": reason})
        click.secho(f"does not fit: the bundle is not verified. {reason}", fg="red", err=True)
        sys.exit(1)
    left = certificates.parts_not_compared(certificate, measured=original is not None)
    put_json(lambda: {"fits": not differences, "differences": list(differences), "not_compared": list(left)})
    if differences:
        click.secho(f"does not fit: {_list_differences(differences)}.", fg="red", err=True)
        sys.exit(1)
    rest = " beside what is named below" if left else ""
    click.echo(
        f"ok  {len(certificate.checks)} checks passed anew, and all that the certificate says{rest} was derived again, "
        "but for the issuer's title, name and date"
    )
    if left == ("internal",):
        click.echo("--  the internal part was not compared: name the table with --original")
    elif left:
        click.echo("--  what the ledger said was not compared: it grows with every release")


def _list_differences(differences: tuple[str, ...]) -> str:
    if differences == ("bundle",):
        return "the certificate is about other bytes than this bundle's"
    return f"it says something else than the bundle in {', '.join(differences)}"
