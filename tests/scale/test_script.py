"""The script of a recipe for an engine publishes the bytes that the recipe publishes."""

import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq

from hedgerow.recipe import Recipe, Roles, publish_recipe_in_blocks, recipe_script

TABLE = pa.table({"age": list(range(20, 60)), "town": ["Ash", "Elm"] * 20, "pay": [row % 10 for row in range(40)]})


def test_the_script_publishes_what_the_recipe_says(tmp_path):
    """Engine, memory, help tables and the roles of all other columns stand in the script."""
    pq.write_table(TABLE, tmp_path / "table.parquet")
    recipes = [
        Recipe(
            table=str(tmp_path / "table.parquet"),
            output=str(tmp_path / name),
            roles=Roles(sensitive=["pay"]),
            others="quasi",
            method={"name": "ke", "k": 2, "e": 1},
            engine="duckdb",
            memory="200MB",
            help_tables="sums",
        )
        for name in ("recipe", "script")
    ]
    publish_recipe_in_blocks(recipes[0], seed=7, allow_insecure=True)
    script = recipe_script(recipes[1], seed=7)
    subprocess.run([sys.executable, "-c", script], check=True)
    files = [{file.name: file.read_bytes() for file in (tmp_path / name).iterdir()} for name in ("recipe", "script")]
    assert files[0] == files[1]
    assert "memory='200MB'" in script


def test_the_script_for_a_cluster_opens_it():
    """The address of the cluster and Spark's own columns."""
    script = recipe_script(
        Recipe(
            table="people",
            output="out",
            roles=Roles(sensitive=["pay"]),
            others="quasi",
            method={"name": "ke", "k": 2},
            engine="spark",
            master="spark://host:7077",
        )
    )
    compile(script, "script", "exec")
    assert "open_session('spark://host:7077')" in script
    assert "in table.columns if" in script
