// The stops of the tour of Step by step: what each says, and what it points at.

import { keyed, OPENS_SIDE_BAR } from "../core/streamlit.ts";

/**
 * The places of an element, best first: a selector of the page, or of the walk, which stands in a shadow root. `hint`:
 * what to add where it is the one pointed at
 */
export type Place = { page?: string; walk?: string; hint?: string };
export type Stop = { title: string; says: string; at: Place[] };

const PLAY = " The play button below shows how the numbers are computed.";
const DRAWER = " This button opens the drawer with all of that.";

export const STOPS: Stop[] = [
  {
    title: "Your text",
    says:
      "Everything starts from a text. Type your own sentence, or take one of the examples. Below it you choose where " +
      "the attention comes from: a trained model, or a small random one.",
    at: [{ page: keyed("text_field") }, { page: OPENS_SIDE_BAR, hint: DRAWER }],
  },
  {
    title: "Step by step",
    says:
      "The text becomes tokens, and attention goes from them to its output in these steps. Go through them with the " +
      "arrows, or with the keys ← and →. The formula boxes what each step adds.",
    at: [{ walk: ".steps" }, { walk: ".steps [role=radiogroup]" }],
  },
  {
    title: "The picture",
    says:
      "Each row is a query, the token that looks. Each column is a key, a token that is looked at. The colour of a " +
      "cell, and its number, say how much.",
    at: [
      { walk: ".walk:has(.player:not([hidden])) .picture:not([hidden])", hint: PLAY },
      { walk: ".picture:not([hidden])" },
      { walk: ".tokens:not([hidden])" },
    ],
  },
  {
    title: "One cell, worked out",
    says:
      "Point at a cell, or tap it: here its arithmetic is written out with the real numbers. A click pins the cell, " +
      "so that it stays while you change the step.",
    at: [{ walk: ".inspector" }, { walk: ".beside" }],
  },
  {
    title: "Layers and heads",
    says:
      "A model has several heads in each layer, and each looks at something else. Every small picture is a head: " +
      "choose one. “Surprise me”, beside the text, finds one that stands out.",
    at: [{ walk: ".heads .strip:not([hidden])" }, { walk: ".heads" }],
  },
  {
    title: "Guess a row",
    says: "This covers a row of the weights. Guess where its token looks, then choose a cell. The key R shows the row.",
    at: [{ walk: "[data-name=predict]" }, { walk: ".switches" }, { walk: ".heads" }],
  },
  {
    title: "Take it with you",
    says:
      "The address always holds the whole view: share it, and others see the same numbers. Export makes slides, " +
      "pictures, tables and code of it.",
    at: [{ page: keyed("toolbar") }],
  },
];

/** The first of a stop's places with a visible element, and that; null while there is none. */
export function find(places: Place[]): { target: HTMLElement; hint: string } | null {
  const walk = document.querySelector(`${keyed("walk")} .attnviz-isolated`)?.shadowRoot;
  for (const { page, walk: inWalk, hint = "" } of places) {
    const found = page ? document.querySelector(page) : walk?.querySelector(inWalk ?? "");
    if (found instanceof HTMLElement && isSeen(found)) return { target: found, hint };
  }
  return null;
}

/** Whether an element has a size, and is not beside the window, as a closed drawer is. */
function isSeen(one: HTMLElement) {
  const { width, height, right, left } = one.getBoundingClientRect();
  const shown = one.checkVisibility({ visibilityProperty: true });
  return shown && width > 0 && height > 0 && right > 0 && left < window.innerWidth;
}
