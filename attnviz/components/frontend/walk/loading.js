// Gets what a walk does not have: documents of other layers, and arrays that a document only refers to. What the user
// may look at next is fetched ahead where it is small.

import { addArray } from "../core/document.js";

const KEPT = 6; // documents
const REST = 1000; // ms: who goes on sooner may want another text
const SMALL = 2 ** 20; // bytes that may be fetched ahead

export class Loading {
  /** @param {Home} home */
  constructor(home) {
    this.home = home;
    /** @type {number | undefined} */
    this.timer = undefined;
    /** @type {Map<number, Promise<WalkDocument>>} by layer, the last that was asked for at the end */
    this.documents = new Map();
    /** @type {WeakMap<WalkDocument, Map<string, Promise<void>>>} */
    this.arrays = new WeakMap();
  }

  /** Forgets the documents of another text or model, and begins with one. @param {WalkDocument} document */
  begin(document) {
    this.documents.clear();
    this.documents.set(document.header.layer, Promise.resolve(document));
  }

  /** The document of a layer. @param {number} layer @returns {Promise<WalkDocument>} */
  layer(layer) {
    const found = this.documents.get(layer) ?? this.load(layer);
    this.documents.delete(layer);
    this.documents.set(layer, found);
    for (const old of [...this.documents.keys()].slice(0, -KEPT)) this.documents.delete(old);
    return found;
  }

  /** Whether this is what was asked for last. @param {number} layer @param {Promise<WalkDocument>} found */
  has(layer, found) {
    return this.documents.get(layer) === found;
  }

  /** @param {number} layer @returns {Promise<WalkDocument>} */
  load(layer) {
    const found = this.home.load?.(layer) ?? Promise.reject(new Error("it is not part of this document"));
    found.catch(() => this.documents.get(layer) === found && this.documents.delete(layer)); // the next call tries again
    return found;
  }

  /**
   * Fetches arrays that a document refers to; resolves when it holds them.
   * @param {WalkDocument} document @param {string[]} names
   */
  async fetch(document, names) {
    await Promise.all(names.map((name) => this.array(document, name)));
  }

  /** @param {WalkDocument} document @param {string} name @returns {Promise<void>} */
  array(document, name) {
    const asked = this.arrays.get(document) ?? new Map();
    this.arrays.set(document, asked);
    const found = asked.get(name) ?? this.fetchArray(document, name);
    asked.set(name, found);
    found.catch(() => asked.delete(name));
    return found;
  }

  /** @param {WalkDocument} document @param {string} name */
  async fetchArray(document, name) {
    if (!this.home.array) throw new Error("it is not part of this document");
    addArray(document, name, await this.home.array(document.header.references[name]));
  }

  /** Does `ahead` when the page is at rest. @param {WalkDocument} document @param {number} head */
  later(document, head) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ahead(document, head), REST);
  }

  /**
   * Fetches what is next to a head of a document, where it is small: its arrays in the neighbouring heads, and the
   * neighbouring layers. What does not come is fetched when it is looked at.
   * @param {WalkDocument} document @param {number} head
   */
  ahead(document, head) {
    const { heads, layer, references } = document.header;
    const at = heads.indexOf(head);
    for (const other of [heads[at + 1], heads[at - 1]]) {
      const names = ["query", "key", "value"].map((name) => `${name}/${other}`).filter((name) => name in references);
      if (sizeOf(names.map((name) => references[name].shape)) <= SMALL) this.fetch(document, names).catch(() => {});
    }
    if (sizeOf(Object.values(document.arrays).map(({ shape }) => shape)) > SMALL) return;
    const { layers = [] } = this.home;
    const here = layers.indexOf(layer);
    for (const other of here < 0 ? [] : [layers[here + 1], layers[here - 1]]) {
      if (other !== undefined) this.layer(other).catch(() => {});
    }
  }

  destroy() {
    clearTimeout(this.timer);
  }
}

/** Bytes of float32 arrays. @param {number[][]} shapes */
const sizeOf = (shapes) => 4 * shapes.reduce((sum, shape) => sum + shape.reduce((all, side) => all * side, 1), 0);
