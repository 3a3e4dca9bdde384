// What Python and the browser both have to know: written by `python -m tests.unit.components.constants`, in which each
// value is listed with its place in Python. A test compares the two.

/** The colours of roles and of text, for areas and large marks. */
export const INK = {
  light: {
    query: "#0072B2",
    key: "#D55E00",
    value: "#009E73",
    attention: "#5E3C99",
    text: "#4A4A57",
    canvas: "#FFFFFF",
    rule: "#80808C",
  },
  dark: {
    query: "#6CBDF0",
    key: "#FF9D5C",
    value: "#3FD0A4",
    attention: "#BDA6EE",
    text: "#C9C9D4",
    canvas: "#20202B",
    rule: "#80808C",
  },
};

/** The same as text: with a contrast of 4.5 and more to the ground, for small type. */
export const TEXT_INK = {
  light: {
    query: "#0068A3",
    key: "#A84800",
    value: "#007050",
    attention: "#5E3C99",
    text: "#4A4A57",
    canvas: "#FFFFFF",
    rule: "#80808C",
  },
  dark: {
    query: "#6BBCF0",
    key: "#FF9B52",
    value: "#3CCBA0",
    attention: "#BDA6EE",
    text: "#C9C9D4",
    canvas: "#20202B",
    rule: "#80808C",
  },
};

/**
 * The colours of numbers, evenly spaced. Brown is negative, the canvas's own colour is 0, purple positive; weights go
 * from the canvas to purple.
 */
export const SCALES = {
  light: {
    signed: ["#B35806", "#FDB863", "#FFFFFF", "#B2ABD2", "#5E3C99"],
    weights: ["#FFFFFF", "#5E3C99"],
  },
  dark: {
    signed: ["#FDB863", "#A4610F", "#20202B", "#6F5AA8", "#CDBBF5"],
    weights: ["#20202B", "#BDA6EE"],
  },
};

/** Hatching of cells that are masked, by why they are: ground and line. */
export const HATCH = {
  light: {
    future: ["#D4D4DC", "#AFAFBB"],
    window: ["#ECECF1", "#B9B9C6"],
    padding: ["#B4B4C1", "#8E8E9E"],
  },
  dark: {
    future: ["#3A3A46", "#55555F"],
    window: ["#2B2B36", "#4B4B57"],
    padding: ["#565664", "#757583"],
  },
};

/** Why a mask hides a cell, in the order of legends: how its hatching looks, and its name. */
export const MASK_REASONS = {
  future: {
    sign: "/",
    words: "future",
  },
  window: {
    sign: "\\",
    words: "outside of the window",
  },
  padding: {
    sign: "×",
    words: "padding",
  },
};

/** The ground of a page and of an exported picture. */
export const PAPER = {
  light: "#FFFFFF",
  dark: "#14141B",
};

/** Text on it. */
export const HEADING = {
  light: "#1B1B26",
  dark: "#EDEDF4",
};

/** Of a line that is less important. */
export const RULE_OPACITY = 0.6;

/** Text on a coloured cell: dark where its luminance, 0 to 255, is above `from`. */
export const ON_CELL = {
  dark: "#1B1B26",
  light: "#FFFFFF",
  from: 140,
};

/**
 * Colours of weights end by themselves at the largest weights from `many` keys on, at the one that this `share` of the
 * rows does not exceed; nowhere if that is not `below` a weight.
 */
export const DARKENED_LIMIT = {
  many: 40,
  share: 0.9,
  below: 0.8,
};

/**
 * Colours of other matrices end at the magnitude that this share (`middle`) of the numbers does not exceed, if the
 * largest is more than this multiple of it.
 */
export const COLOUR_LIMIT = {
  middle: 0.98,
  bleached: 3,
};

/** Weights that are hardly told from 0 where colours go to 1. */
export const FAINT_BELOW = 0.1;

/** The names of axes, by their kinds. */
export const AXIS_TITLES = {
  query: "query (from)",
  key: "key (to)",
  model: "model width C",
  hidden: "neuron",
  vocabulary: "token of the vocabulary",
  dim: "head width D",
  pair: "pair",
  concat: "heads side by side, H·D",
  layer: "layer",
  head: "head",
  position: "position",
};

/** What is said of matrices of queries and keys. */
export const ROWS_AND_COLUMNS = "Rows are queries (from), columns are keys (to).";

/** Degrees by which labels of columns are turned that do not fit side by side. */
export const TURN = 55;

/** With more tokens, a label says its position where only every n-th has one. */
export const NUMBERED_LABELS = 24;

/**
 * How numbers in cells and beside colour bars are written: with one decimal from a magnitude on; with three beside a
 * bar that ends below another; in narrow cells without the zero before the point if all are below; with ≥ or ≤ at the
 * end of a bar of which numbers go beyond this multiple.
 */
export const CELL_NUMBERS = {
  oneDecimalFrom: 9.995,
  threeDecimalsBelow: 0.1,
  bareBelow: 0.995,
  beyond: 1.005,
};

/** A Plotly figure: attnviz/figures/compose.py and panels.py say what each is. */
export const CHART = {
  gap: {
    x: 0.05,
    y: 0.14,
  },
  numbered: 16,
  spaced: 48,
  colourBar: {
    thickness: 10,
    len: 0.5,
    x: 1.01,
    y: 0,
    yanchor: "bottom",
    outlinewidth: 0,
    nticks: 5,
  },
  usual: {
    width: 560,
    height: 380,
  },
  needed: {
    tokens: 11,
    numbers: 26,
    rows: 9,
  },
  margins: {
    left: 34,
    letter: 6.5,
    right: 12,
    bar: 56,
    top: 46,
    bottom: 30,
    numbers: 14,
    slant: 0.82,
  },
  longest: 12,
};

/** Numbers as text: digits of a weight, of a number near 0; where powers of ten begin; rounding of 100 %. */
export const FORMAT = {
  digits: 4,
  tiny: 2,
  huge: 1000000.0,
  rounded: 0.0001,
};

/** Tokens that are listed, at most. */
export const LISTED = {
  most: 600,
};

/** A weight of 1 as 16 bits; how far from the model's own a weight may be that was sent so. */
export const WEIGHT_LEVELS = {
  full: 65535,
  error: 7.7e-6,
};

/** A matrix of a comparison as 16 bits: the level of its largest number, and that of no number. */
export const COMPARED_LEVELS = {
  full: 65534,
  missing: 65535,
};

/** Cells along the longer side of a thumbnail. */
export const THUMBNAIL = 48;

/** A head looks everywhere from this share of the entropy of uniform attention on. */
export const BROAD_ENTROPY = 0.85;

/** The only one that is read. */
export const DOCUMENT_VERSION = 6;

/** All steps of walks, in order. What a layer lacks is replaced by the nearest step before it. */
export const STEP_ORDER = [
  "tokens",
  "embeddings",
  "input_norm",
  "qkv",
  "normed",
  "rotated",
  "scores",
  "scaled",
  "capped",
  "biased",
  "masked",
  "weights",
  "head_outputs",
  "concat",
  "output",
  "attention_residual",
  "attention_norm",
  "feed_forward_norm",
  "feed_forward_hidden",
  "feed_forward_output",
  "feed_forward_residual",
  "block_output",
  "final_norm",
  "transform_hidden",
  "transform_norm",
  "logits",
  "probabilities",
];

/** The head that stands for the rollout up to a layer. */
export const ROLLOUT = -1;

/** Heads that are shown together. */
export const MOST_HEADS = 24;

/** The keys of links that all pages share. */
export const SHARED_KEYS = ["lecture", "lesson", "scene"];

/** The paths of all pages, below that of the app. */
export const PAGE_PATHS = ["lessons", "tokens", "averages", "", "heads", "compare", "transformer", "train", "bert"];

/** The keys of links: their defaults, and what they take. Words that depend on the view come with it. */
export const LINK_KEYS = {
  step: {
    kind: "text",
    default: "scores",
  },
  layer: {
    kind: "integer",
    default: 0,
    low: 0,
    high: 100000,
  },
  head: {
    kind: "integer",
    default: 0,
    low: 0,
    high: 100000,
  },
  q: {
    kind: "integer",
    default: null,
    low: 0,
    high: 100000,
  },
  k: {
    kind: "integer",
    default: null,
    low: 0,
    high: 100000,
  },
  predict: {
    kind: "switch",
    default: false,
  },
  stretch: {
    kind: "word",
    default: "0",
    words: ["0", "1", "off"],
  },
  limit: {
    kind: "number",
    default: null,
    low: 0.01,
    high: 1000,
    decimals: 2,
  },
  focus: {
    kind: "text",
    default: "",
  },
  dim: {
    kind: "switch",
    default: false,
  },
  why: {
    kind: "switch",
    default: false,
  },
  play: {
    kind: "switch",
    default: false,
  },
  rollout: {
    kind: "switch",
    default: false,
  },
  chosen: {
    kind: "heads",
    default: [],
  },
  show: {
    kind: "word",
    default: "both",
    words: ["both", "lines", "heatmap"],
  },
  direction: {
    kind: "word",
    default: "vertical",
    words: ["vertical", "horizontal"],
  },
  threshold: {
    kind: "number",
    default: 0.05,
    low: 0,
    high: 1,
    decimals: 4,
  },
  strongest: {
    kind: "integer",
    default: 0,
    low: 0,
    high: 1000,
  },
  special: {
    kind: "word",
    default: "keep",
    words: ["keep", "hide", "renormalise"],
  },
  between: {
    kind: "word",
    default: "all",
    words: ["all", "aa", "ab", "ba", "bb"],
  },
  values: {
    kind: "word",
    default: "weights",
    words: ["weights", "norms"],
  },
  mean: {
    kind: "switch",
    default: false,
  },
  sort: {
    kind: "text",
    default: "",
  },
  label: {
    kind: "text",
    default: "",
  },
  seed: {
    kind: "integer",
    default: 0,
    low: 0,
    high: 999999,
  },
  lecture: {
    kind: "switch",
    default: false,
  },
} as const;
