"""The page of results: goals, tables, pictures."""

import os
import platform
from collections.abc import Callable, Iterable, Iterator
from importlib import metadata
from math import exp, log, log10
from pathlib import Path
from typing import Any

Row = dict[str, Any]


def missed(found):
    return []


def machine(threads):
    return {}
