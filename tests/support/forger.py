"""Bundles as a forger makes them: anything edited, and every checksum made to fit."""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["Forgery", "encoded", "seal"]


@dataclass
class Forgery:
    """The parts of a bundle, to be edited and written again; `raw` holds files that are written as they are."""

    manifest: dict[str, Any]
    tables: dict[str, pa.Table]
    texts: dict[str, str]
    raw: dict[str, bytes] = field(default_factory=dict)

    @staticmethod
    def of(path: Path) -> Forgery:
        """Take a bundle apart."""
        tables = {file.stem: pq.read_table(file) for file in sorted(path.glob("*.parquet"))}
        texts = {file.name: file.read_text() for file in path.iterdir() if file.suffix in (".md", ".html")}
        return Forgery(json.loads((path / "manifest.json").read_text()), tables, texts)

    def edit(self, table: str, column: str, values: Any) -> None:
        """Replace a column; an array keeps its type, a list takes that of the column."""
        old = self.tables[table]
        new = values if isinstance(values, pa.Array) else pa.array(values, old.schema.field(column).type)
        self.tables[table] = old.set_column(old.column_names.index(column), column, new)

    def write(self, path: Path) -> Path:
        """Write the bundle with checksums, sizes and row counts that fit."""
        path.mkdir()
        files = {}
        for name, table in self.tables.items():
            pq.write_table(table, path / f"{name}.parquet", store_schema=False)
            files[f"{name}.parquet"] = {"rows": table.num_rows}
        for name, text in self.texts.items():
            (path / name).write_text(text)
            files[name] = {"rows": None}
        for name, content in self.raw.items():
            (path / name).write_bytes(content)
            files.setdefault(name, {"rows": None})
        for name, entry in files.items():
            content = (path / name).read_bytes()
            entry |= {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
            files[name] = {key: entry[key] for key in ("sha256", "bytes", "rows")}
        (path / "manifest.json").write_bytes(seal(self.manifest | {"files": files}))
        return path


def encoded(table: pa.Table) -> bytes:
    """A table as the Parquet file that a bundle holds."""
    sink = io.BytesIO()
    pq.write_table(table, sink, store_schema=False)
    return sink.getvalue()


def seal(manifest: dict[str, Any]) -> bytes:
    """Write a manifest with the checksum that it must have."""
    bare = json.dumps(manifest | {"checksum": ""}, ensure_ascii=False, separators=(",", ":")).encode()
    return json.dumps(manifest | {"checksum": hashlib.sha256(bare).hexdigest()}, ensure_ascii=False).encode()
