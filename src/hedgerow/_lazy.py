"""Names that are imported when first used (PEP 562), so that importing a package costs next to nothing."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

__all__ = ["CallablePackage", "lazy"]


def lazy(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a module-level `__getattr__` that finds a name at `homes[name]`: module.attribute, or a module alone."""

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, dot, attribute = homes[name].rpartition(".")
        if not dot:
            return importlib.import_module(f"{package}.{attribute}")
        value = getattr(importlib.import_module(f"{package}.{module}"), attribute)
        setattr(sys.modules[package], name, value)
        return value

    return find


class CallablePackage(ModuleType):
    """A package that shares its name with a function of the front door, and is called as that function.

    `hedgerow.attack` has to be both: Python binds a package to its name in the parent whenever it is imported.
    """

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Call the function of this name in hedgerow.front."""
        front = importlib.import_module("hedgerow.front")
        return getattr(front, self.__name__.rpartition(".")[2])(*arguments, **options)
