// Gets what a walk does not have: documents of its layers, arrays that a document only refers to, and matrices of long
// texts, which are computed a few rows at a time. What the user may look at next is fetched ahead where it is small.

import { fetchArrays, fetchFile, NO_CONNECTION } from "../core/arrays.ts";
import { addArray, GUESSES, read } from "../core/document.ts";
import { Files, NotCome, Refused } from "../core/files.ts";
import { compute, COMPUTED, operandNames } from "./matrices.ts";

const KEPT = 6; // documents
const AT_ONCE = 4; // files
const REST = 1000; // ms: who goes on sooner may want another text
const SMALL = 2 ** 20; // bytes that may be fetched ahead
const NOWHERE = "it is not part of this document";

type Script = typeof import("./matrix_view.ts");
/** a document, an array of one, or the script */
export type Part = WalkDocument | Packed | Script;

/** What has to come before all of a view can be painted. */
export interface Lacking {
  files: string[];
  /** is said of them where they do not come */
  what: string;
  /** whether the picture on the screen is not of what is chosen */
  isPicture: boolean;
}
export const NOTHING_LACKING: Lacking = { files: [], what: "", isPicture: false };

/** The name of a document among the files of a text. */
export const documentName = (layer: number) => `document ${layer}`;

/** The name of an array that a document refers to. */
export const arrayName = (layer: number, name: string) => `array ${layer} ${name}`;

/** The name of the script that shows matrices (matrix_view.ts) among the files of a text. */
export const SCRIPT = "script";

/** What stands before the head, query and key in the name of a file with what a score is made of. */
export const SCORE = "~score-";

/** The file with what a score is made of, beside the document of its layer. */
export const scoreName = ({ documents }: Home, layer: number, head: number, q: number, k: number) =>
  `${documents?.[layer] ?? ""}${SCORE}${head}-${q}-${k}`;

/** The file with a row before the first layer and after each, beside the document of a layer. */
export const statesName = ({ documents }: Home, layer: number, row: number) =>
  `${documents?.[layer] ?? ""}~states-${row}`;

export class Loading {
  home: Home;
  onChange;
  timer: number | undefined;
  /** by layer, the last that was looked at at the end */
  documents = new Map<number, WalkDocument>();
  files: Files<Part>;
  script: Script | null = null;
  /** the layer of this text that was shown last */
  shown: number | undefined;
  /** where the user goes through the layers: 1 up, -1 down, 0 not yet in this text */
  way = 0;

  /** @param onChange something has come, or has not */
  constructor(home: Home, onChange: () => void) {
    this.home = home;
    this.onChange = onChange;
    this.files = this.fetching();
  }

  fetching(): Files<Part> {
    const does = {
      onCome: (_: string, part: Part) => this.take(part),
      onFail: this.onChange,
    };
    return new Files((file) => this.get(file), does, { atOnce: AT_ONCE });
  }

  /**
   * Forgets all of another text or model, also what is on its way.
   * @param document to begin with, if one is there
   */
  begin(document: WalkDocument | null = null) {
    this.files.destroy();
    clearTimeout(this.timer);
    this.documents.clear();
    [this.shown, this.way] = [undefined, 0];
    if (document) this.documents.set(document.header.layer, document);
    this.files = this.fetching();
  }

  /** The document of a layer, if it is here. */
  layer(layer: number) {
    const found = this.documents.get(layer) ?? null;
    if (found) this.keep(found);
    return found;
  }

  keep(document: WalkDocument) {
    const { layer } = document.header;
    this.documents.delete(layer);
    this.documents.set(layer, document);
    for (const old of [...this.documents.keys()].slice(0, -KEPT)) this.documents.delete(old);
  }

  async get(file: string): Promise<Part> {
    if (file === SCRIPT) return this.fetchScript();
    const { layer, name } = partsOf(file);
    const { source, documents } = this.home;
    if (!name) {
      const address = documents?.[layer];
      if (!address) throw new Refused(NOWHERE);
      return read(await fetchFile(address, source));
    }
    const document = this.documents.get(layer);
    if (document && name === GUESSES) return this.guesses(document);
    if (document && name.startsWith(COMPUTED)) {
      const { files } = this;
      return compute(document, Number(name.slice(COMPUTED.length)), () => files.wanted.includes(file));
    }
    const reference = document?.header.references[name];
    if (!document || !reference) throw new Refused(NOWHERE);
    const { array } = await fetchArrays(reference.digest, source);
    if (!(name in document.arrays)) addArray(document, name, array);
    return array;
  }

  async fetchScript() {
    try {
      this.script = await import("./matrix_view.ts");
    } catch {
      throw new NotCome(NO_CONNECTION);
    }
    return this.script;
  }

  /** Fetches the guesses of a document into it. */
  async guesses(document: WalkDocument) {
    const { header } = document;
    if (!header.guesses_at) throw new Refused(NOWHERE);
    header.guesses = parsed(await fetchFile(header.guesses_at, this.home.source));
    delete header.guesses_at;
    return document;
  }

  /**
   * Fetches an array of a document, or computes a head of it, at once.
   * @param name as `missing` of HeadMatrices has it
   */
  async fetchNow(document: WalkDocument, name: string) {
    if (name.startsWith(COMPUTED)) await compute(document, Number(name.slice(COMPUTED.length)), () => true);
    else await this.get(arrayName(document.header.layer, name));
  }

  /** Fetches what is computed where the model is: what a score is made of, or the states of a row. */
  async fetchJson<Value>(name: string): Promise<Value> {
    return parsed(await fetchFile(name, this.home.source));
  }

  take(part: Part) {
    if ("header" in part) this.keep(part);
    this.onChange();
  }

  /** Does `ahead` when the page, which shows a head of a document, is at rest. */
  later(document: WalkDocument, head: number) {
    const { layer } = document.header;
    this.way = Math.sign(layer - (this.shown ?? layer)) || this.way;
    this.shown = layer;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ahead(document, head), REST);
  }

  /**
   * Fetches what is next to a head of a document, where it is small: the script that shows matrices, its arrays in the
   * neighbouring heads, and the next layer, once the user goes through the layers: few do, and each document costs the
   * server 4 ms. What does not come is fetched when it is looked at.
   */
  ahead(document: WalkDocument, head: number) {
    const { header, arrays } = document;
    const { heads, layer, references } = header;
    const at = heads.indexOf(head);
    const files = this.script ? [] : [SCRIPT];
    for (const other of [heads[at + 1], heads[at - 1]]) {
      const names = operandNames(document, ["query", "key", "value"])
        .map((name) => `${name}/${other}`)
        .filter((name) => name in references && !(name in arrays));
      if (sizeOf(names.map((name) => references[name].shape)) <= SMALL) {
        files.push(...names.map((name) => arrayName(layer, name)));
      }
    }
    const { layers = [] } = this.home;
    const here = layers.indexOf(layer);
    const next = here < 0 || !this.way ? undefined : layers[here + this.way];
    if (next !== undefined && !this.documents.has(next)) {
      if (sizeOf(Object.values(arrays).map(({ shape }) => shape)) <= SMALL) files.push(documentName(next));
    }
    this.files.fetchAhead(files);
  }

  destroy() {
    clearTimeout(this.timer);
    this.files.destroy();
  }
}

const parsed = (file: Uint8Array) => JSON.parse(new TextDecoder().decode(file));

function partsOf(file: string) {
  const [, layer, name = ""] = file.split(" ");
  return { layer: Number(layer), name };
}

/** Bytes of float32 arrays. */
const sizeOf = (shapes: number[][]) =>
  4 * shapes.reduce((sum, shape) => sum + shape.reduce((all, side) => all * side, 1), 0);
