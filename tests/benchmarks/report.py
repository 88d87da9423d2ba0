"""The page of results: goals, tables, pictures."""

from typing import Any

Row = dict[str, Any]


def missed(found):
    return []


def machine(threads):
    return {}
