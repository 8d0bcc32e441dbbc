"""Pictures of every screen of the app for docs/app.md, wide, narrow and dark: python -m tools.app_pictures [folder]

Needs chromium and chromedriver (tools/system_tools.sh installs them). The table is generated.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow.parquet as pq
from PIL import Image

from hedgerow.datasets import census
from tests.app.chromium import Chromium

ROWS = 3000
QUESTION = "SELECT education, avg(income) FROM release WHERE age BETWEEN 30 AND 50 GROUP BY education LIMIT 8"


def main() -> int:
    """Walk once, then look at every screen in three ways."""
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/figures/app")
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        table = census(ROWS, seed=2026).select(["age", "gender", "education", "marital", "income"])
        pq.write_table(table, Path(folder) / "census.parquet")
        words = [sys.executable, "-m", "hedgerow", "app", "census.parquet", "--folder", "work", "--no-browser"]
        with subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            process.stdout.readline()
            window = Chromium()
            try:
                _walk(window, process.stdout.readline().strip(), target)
            finally:
                window.close()
                process.terminate()
    return 0


def _walk(window: Chromium, address: str, target: Path) -> None:
    origin = address.split("/?")[0]
    window.look()
    window.go(address)
    window.go(f"{origin}/roles")
    window.click("button[value=suggest]")
    window.go(f"{origin}/promise?method=anatomy")
    window.fill("#p-l", "5")
    window.click("button[value=save]")
    window.go(f"{origin}/promise")
    window.wait(lambda: "Done" in window.one("[data-job] [role=status]").text, 900)
    for name in ("anatomy", "ke"):
        window.go(f"{origin}/promise?method={name}")
        for field, text in {"anatomy": {"l": "5"}, "ke": {"k": "10", "e": "5000", "l": "4"}}[name].items():
            window.fill(f"#p-{field}", text)
        window.click("button[value=next]")
        window.wait(lambda: window.all("[name=again]"))
        if name == "ke":
            window.click("[name=again]")
        window.click("main form button")
        window.wait(lambda: "/releases/" in window.driver.current_url, 300)
    window.go(f"{origin}/releases/release-1/attacks")
    window.click("main form button")
    window.wait(lambda: window.all("#attacks"), 300)
    window.go(f"{origin}/compare")
    window.click("main form button")
    window.wait(lambda: window.all("#scores"), 300)
    window.go(f"{origin}/promise")
    window.wait(lambda: "Done" in window.one("[data-job] [role=status]").text, 900)
    for name, path in _screens().items():
        for way, look in (("wide", {}), ("narrow", {"width": 390}), ("dark", {"dark": True})):
            window.look(**look)
            window.go(origin + path)
            time.sleep(0.3)
            window.picture(target / f"{name}-{way}.png", most=1050)
        _put_side_by_side([target / f"{name}-{way}.png" for way in ("wide", "dark", "narrow")], target / f"{name}.png")
    for name in ("ask", "attacks", "promise"):
        window.look(width=800)
        window.go(origin + _screens()[name])
        window.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        time.sleep(0.3)
        window.picture(target / f"{name}-print.png", most=1050)
        window.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    _put_side_by_side([target / f"{name}-print.png" for name in ("ask", "attacks", "promise")], target / "print.png")


def _put_side_by_side(files: list[Path], target: Path) -> None:
    """One small picture of three: half the size, few colours."""
    parts = [Image.open(file).convert("RGB") for file in files]
    parts = [part.resize((part.width // 2, part.height // 2), Image.Resampling.LANCZOS) for part in parts]
    sheet = Image.new("RGB", (sum(part.width + 8 for part in parts), max(part.height for part in parts)), "#888888")
    place = 0
    for part in parts:
        sheet.paste(part, (place, 0))
        place += part.width + 8
    few = sheet.quantize(128, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    few.save(target, optimize=True)
    for file in files:
        file.unlink()


def _screens() -> dict[str, str]:
    first, second = "/releases/release-1", "/releases/release-2"
    return {
        "table": "/table",
        "roles": "/roles",
        "promise": "/promise?method=ke&p-k=10&p-e=5000&p-l=4",
        "publish": "/publish",
        "release": second,
        "ask": f"{second}/ask?q={QUESTION}&truth=1",
        "regression": f"{second}/ask?formula=income ~ age",
        "attacks": f"{first}/attacks",
        "certificate": f"{second}/certificate?title=Census",
        "compare": "/compare",
        "graph": "/graph",
    }


if __name__ == "__main__":
    sys.exit(main())
