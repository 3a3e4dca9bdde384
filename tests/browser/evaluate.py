"""Evaluates functions in a page whose arguments or results are large.

Playwright checks and converts each value of a list by itself, twice: a matrix of 100,000 numbers takes it seconds. Here
one text goes through it, JSON with marks for what JSON lacks.
"""

from __future__ import annotations

import json
from math import inf, nan
from typing import Any

from playwright.sync_api import Locator, Page

MARK = "\0"
MARKED = {"undefined": None, "NaN": nan, "Infinity": inf, "-Infinity": -inf, "-0": -0.0}

AS_TEXT = """((run) => async (ELEMENT{ text, given }) => {
  const result = await run(ELEMENTtext === undefined ? given : JSON.parse(text));
  const unfit = [Date, Error, RegExp, URL, Node, ArrayBuffer, Promise];
  const mark = (value) => ({ "\\0": value });
  const written = function (key, value) {
    const real = this[key];
    if (typeof real === "number") {
      return Number.isFinite(real) && !Object.is(real, -0) ? real : mark(Object.is(real, -0) ? "-0" : `${real}`);
    }
    if (real === undefined) return mark("undefined");
    if (["function", "symbol", "bigint"].includes(typeof real)) throw new TypeError("not for JSON");
    if (typeof real === "object" && real !== null && !Array.isArray(real)) {
      if (ArrayBuffer.isView(real) || real.toJSON || unfit.some((kind) => real instanceof kind)) {
        throw new TypeError("not for JSON");
      }
    }
    return value;
  };
  try {
    return { text: JSON.stringify(result, written) };
  } catch {
    return { result }; // Playwright knows more kinds of values, and circles
  }
})(FUNCTION)"""


def evaluate(place: Page | Locator, function: str, argument: Any = None) -> Any:
    """Do what the `evaluate` of a page or locator does, with functions only, and faster where much goes in or out."""
    try:
        given = {"text": json.dumps(argument, allow_nan=False)}
    except (TypeError, ValueError):
        given = {"given": argument}
    element = "element, " if isinstance(place, Locator) else ""
    answer = place.evaluate(AS_TEXT.replace("ELEMENT", element).replace("FUNCTION", function), given)
    return json.loads(answer["text"], object_hook=_unmarked) if "text" in answer else answer["result"]


def _unmarked(value: dict[str, Any]) -> Any:
    return MARKED[value[MARK]] if MARK in value else value
