"""A recipe: everything about one publication in a TOML file, so that flags, a file and a script are the same.

`read_recipe` and `write_recipe` keep it, `publish_recipe` runs it, `recipe_script` and `recipe_command` say the same in
Python and for a shell. `read_any` reads the recipe of a graph as well, which all the others take, too.

table  = "adult.csv"
output = "out"
ledger = "ledger.json"             # your record of what was published; leave it out to keep none
rows_per_part = 1000000            # write the bundle in parts; leave it out for one file
help_tables = "sums"               # bounds for plain SQL: all (if left out), sums or none
engine = "duckdb"                  # memory, duckdb or spark; left out, duckdb where the table would not fit into memory
memory = "1GB"                     # what the engine may take
master = "spark://host:7077"       # where Spark is, for engine = "spark": spark://, sc:// (Connect), yarn, k8s://
others = "identifier"              # the role of columns that [roles] does not name; leave it out to be asked

[roles]
quasi     = ["age", "sex"]
sensitive = ["capital-loss"]

[missing]
"capital-loss" = "suppress"

[texts]                            # trimmed (sensitive ones are), folded (case ignored, too) or exact
diagnosis = "folded"

[reading]                          # what the file does not say itself; found out where it is left out
decimal = ","                      # header, delimiter, decimal, thousands, encoding, quote, sheet, labels
missing_codes = ["-9"]             # and types: { zip = "text" }

[hierarchies]
age = "age.csv"                    # in ARX's format: no header, ';', one line per value, most specific first

[method]
name = "ke"
k = 4
e = 100
"""

from hedgerow.recipe.file import decode_recipe, differences, read_any, read_recipe, write_recipe
from hedgerow.recipe.recipe import (
    Recipe,
    Roles,
    publish_recipe,
    publish_recipe_in_blocks,
    require_ready,
    withdraw_unless_saved,
)
from hedgerow.recipe.script import recipe_command, recipe_script

__all__ = [
    "Recipe",
    "Roles",
    "decode_recipe",
    "differences",
    "publish_recipe",
    "publish_recipe_in_blocks",
    "read_any",
    "read_recipe",
    "recipe_command",
    "recipe_script",
    "require_ready",
    "withdraw_unless_saved",
    "write_recipe",
]
