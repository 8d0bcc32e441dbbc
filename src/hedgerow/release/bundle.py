"""The only door out: a release as a folder of Parquet files with a manifest, written whole or not at all.

The folder is written under a hidden name beside its target, every file synced, the manifest last, then renamed. Reading
checks every checksum before a row is looked at.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from hedgerow.errors import BundleError
from hedgerow.release.manifest import FileEntry, Manifest, decode, describe, encode
from hedgerow.release.readme import readme
from hedgerow.release.release import Made, PublishedColumns, Release, Rows
from hedgerow.release.swap import put_in_place, settled, sync_folder

__all__ = ["open_helper", "read", "write"]

_MARK = ".hedgerow-writing-"
_HELPERS = ("help",)


def write(
    release: Release,
    path: str | os.PathLike[str],
    *,
    helpers: Mapping[str, pa.Table],
    overwrite: bool = False,
    allow_insecure: bool = False,
) -> None:
    """Write `release` and its helper tables to the folder `path`."""
    if release.made.reproducible and not allow_insecure:
        raise BundleError(
            "This release was made with a seed, so whoever learns the seed can undo it. Publish without a seed, "
            "or pass allow_insecure=True for a test."
        )
    target = Path(path).absolute()
    if target.exists() and not overwrite:
        raise BundleError(f"'{target.name}' exists already; choose another folder or pass overwrite=True.")
    if target.exists() and not _replaceable(target):
        raise BundleError(f"'{target.name}' is not a hedgerow bundle, so it is not overwritten; choose another folder.")
    with _folder_beside(target) as folder:
        files = {f"{name}.parquet": _write_table(table, folder / f"{name}.parquet")
                 for name, table in {**release.tables, **helpers}.items()}  # fmt: skip
        files["README.md"] = _write_text(readme(release), folder / "README.md")
        _write_text(encode(describe(release, files)), folder / "manifest.json")
        sync_folder(folder)
        put_in_place(folder, target, replace=overwrite)


def read(path: str | os.PathLike[str]) -> Release:
    """Open a bundle; raise BundleError unless it is whole and unedited."""
    folder, manifest = _open_manifest(path)
    tables = {name: _read_table(folder, f"{name}.parquet", manifest) for name in _table_names(manifest)}
    return Release(
        form=manifest.form,
        tables=tables,
        columns=PublishedColumns(manifest.columns.quasi, manifest.columns.sensitive, manifest.columns.plain),
        group_column=manifest.group_column,
        guarantee=manifest.guarantee,
        rows=Rows(manifest.rows.input, manifest.rows.published, manifest.rows.suppressed),
        groups=manifest.groups,
        made=Made(manifest.method, manifest.parameters, manifest.missing, manifest.reproducible_insecure),
    )


def open_helper(path: str | os.PathLike[str], name: str) -> pa.Table:
    """Read a helper table of a bundle, which is derived from the release and not part of it."""
    folder, manifest = _open_manifest(path)
    return _read_table(folder, f"{name}.parquet", manifest)


def _table_names(manifest: Manifest) -> list[str]:
    stems = (Path(name).stem for name in manifest.files if name.endswith(".parquet"))
    return [stem for stem in stems if stem not in _HELPERS]


def _open_manifest(path: str | os.PathLike[str]) -> tuple[Path, Manifest]:
    """Read the manifest of a bundle and check every file against it."""
    folder = settled(Path(path).absolute())
    try:
        manifest = decode((folder / "manifest.json").read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        raise BundleError(f"'{folder.name}' is not a hedgerow bundle: it has no manifest.json.") from None
    except OSError as error:
        raise BundleError(f"'{folder.name}' cannot be read: {error.strerror}.") from None
    found = {entry.name for entry in folder.iterdir()} - {"manifest.json"}
    if strange := found - set(manifest.files):
        raise BundleError(f"'{folder.name}' holds {len(strange)} file(s) that its manifest does not list.")
    for name, entry in manifest.files.items():
        _check_file(folder, name, entry)
    return folder, manifest


def _check_file(folder: Path, name: str, entry: FileEntry) -> None:
    if Path(name).name != name or name.startswith("."):
        raise BundleError("manifest.json lists a file outside the bundle.")
    file = folder / name
    if not file.is_file():
        raise BundleError(f"{name} is missing from the bundle; ask for it again.")
    if file.stat().st_size != entry.bytes or _sha256(file) != entry.sha256:
        raise BundleError(f"{name} was edited or damaged: its checksum does not fit the manifest; ask for it again.")


def _read_table(folder: Path, name: str, manifest: Manifest) -> pa.Table:
    try:
        with pq.ParquetFile(folder / name) as file:
            if file.metadata.num_rows != manifest.files[name].rows:
                raise BundleError(f"{name} has {file.metadata.num_rows} rows, not what its manifest says.")
            return file.read().combine_chunks()
    except (pa.ArrowException, OSError, KeyError):
        raise BundleError(f"{name} is not a readable Parquet file of this bundle.") from None


def _write_table(table: pa.Table, file: Path) -> FileEntry:
    # The Arrow schema would repeat the types in a private format and could carry metadata: readers need neither.
    pq.write_table(table.replace_schema_metadata(None), file, compression="zstd", store_schema=False)
    return _entry(file, rows=table.num_rows)


def _write_text(text: str | bytes, file: Path) -> FileEntry:
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return _entry(file)


def _entry(file: Path, rows: int | None = None) -> FileEntry:
    with file.open("rb+") as handle:
        os.fsync(handle.fileno())
    return FileEntry(sha256=_sha256(file), bytes=file.stat().st_size, rows=rows)


def _sha256(file: Path) -> str:
    with file.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def _replaceable(target: Path) -> bool:
    """Only a bundle, or an empty folder, may be replaced."""
    return target.is_dir() and ((target / "manifest.json").is_file() or not any(target.iterdir()))


@contextmanager
def _folder_beside(target: Path) -> Iterator[Path]:
    """Make a hidden folder beside `target` that is gone afterwards, whatever happens, unless it was renamed."""
    folder = target.with_name(f".{target.name}{_MARK}{os.getpid()}-{secrets.token_hex(4)}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _sweep(target)
        folder.mkdir()
        yield folder
    except OSError as error:
        raise BundleError(f"'{target.name}' could not be written: {error.strerror or 'input/output error'}.") from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _sweep(target: Path) -> None:
    """Remove what writers that were killed left behind: folders whose process no longer runs."""
    for stale in target.parent.glob(f".{target.name}{_MARK}*"):
        writer = stale.name.rpartition(_MARK)[2].partition("-")[0]
        if writer.isdigit() and not _runs(int(writer)):
            shutil.rmtree(stale, ignore_errors=True)


def _runs(process: int) -> bool:
    if sys.platform == "win32":  # there os.kill ends the process instead of asking after it
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
