"""Random views: a strategy for the values of each key, from what its registration says that it takes."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from hypothesis import strategies as st

from attnviz.links.link import KEYS
from attnviz.links.values import MAX_NUMBER, Heads, HeadsOff, Key, Name, Number, OneOf, Scale, Switch, Text, Whole

DEFAULTS: dict[str, Any] = {name: key.default for name, key in KEYS.items()}
"""The value of each key that a link does not say"""
NAMES = {
    "task": ["induction", "reverse", "no_such_task"],
    "text_model": ["chargpt", "run-1"],
    "watch": ["decoder.1.0", "encoder.0.11", "cross.12.3"],
}
"""Some names where the page alone knows which exist"""


@singledispatch
def taken(values: object) -> st.SearchStrategy[Any]:
    """Return a strategy for values that a key takes, as `read` returns them."""
    raise NotImplementedError(type(values))


@taken.register
def _(values: OneOf) -> st.SearchStrategy[Any]:
    return st.sampled_from(list(values.by_word.values()))


@taken.register
def _(_: Switch) -> st.SearchStrategy[Any]:
    return st.booleans()


@taken.register
def _(values: Whole) -> st.SearchStrategy[Any]:
    return st.integers(values.low, values.high)


@taken.register
def _(values: Number) -> st.SearchStrategy[Any]:
    step = 10 ** (4 if values.decimals is None else values.decimals)
    small = st.sampled_from([1e-05, 3e-06]) if values.decimals is None else st.nothing()
    return st.integers(round(values.low * step), round(values.high * step)).map(lambda x: x / step) | small


@taken.register
def _(values: Text) -> st.SearchStrategy[Any]:
    return st.text(max_size=200 if values.limit is None else values.limit)


@taken.register
def _(_: Scale) -> st.SearchStrategy[Any]:
    return st.sampled_from(Scale.names) | st.floats(-MAX_NUMBER, MAX_NUMBER).map(lambda x: f"{x:g}")


@taken.register
def _(_: Heads) -> st.SearchStrategy[Any]:
    pairs = st.tuples(st.integers(0, 9999), st.integers(-1, 9999))
    return st.lists(pairs, min_size=1, max_size=24, unique=True).map(tuple)


@taken.register
def _(_: HeadsOff) -> st.SearchStrategy[Any]:
    return st.sets(st.tuples(st.integers(0, 99), st.integers(0, 99)), max_size=72).map(lambda off: tuple(sorted(off)))


def values_of(name: str, key: Key) -> st.SearchStrategy[Any]:
    """Return a strategy for the values of a key in a view: its default, and what it takes."""
    if isinstance(key.values, Name):
        names = NAMES[name] if key.values.among is None else sorted(key.values.among())
        return st.just(key.default) | st.sampled_from(names)
    return st.just(key.default) | taken(key.values)


VALUES: dict[str, st.SearchStrategy[Any]] = {name: values_of(name, key) for name, key in KEYS.items()}
