// Arrays under digests: of the app, those that the page has offered (attnviz/serving/work/arrays.py); elsewhere, names
// that no other text or model has. A digest stands for the same numbers for ever, so what has come stays here while
// there is room: beyond the component, the page and the text.

import { readSafetensors } from "./safetensors.js";

const LIMIT = 64 * 1024 * 1024; // bytes
const PAUSE = 1000; // ms before a request that has failed is repeated, where the server does not say how long
const LONGEST_PAUSE = 20_000; // ms
const UNMAKEABLE = 422; // the status where the server's answer says why there is nothing, now and later

/**
 * @typedef {object} Source
 * @property {(digest: string) => Promise<Response>} request as `fetch` does; who has the file makes a Response of it
 * @property {() => Promise<unknown>} offerAgain asks the page to offer again what the server does not have any more
 */

/** @type {Map<string, Arrays>} by digest, what was used longest ago first */
const kept = new Map();
let held = 0; // bytes
/** @type {Map<string, Promise<Arrays>>} */
const coming = new Map();

/**
 * Requests files from the server at this address.
 * @param {string} server @returns {Source["request"]}
 */
export const fromServer = (server) => (digest) => fetch(`${server}/attnviz/arrays/${digest}`);

/** @param {Arrays} arrays */
export const bytesOf = (arrays) => Object.values(arrays).reduce((sum, { data }) => sum + data.byteLength, 0);

/**
 * The arrays under a digest, if they are here.
 * @param {string} digest
 */
export function keptArrays(digest) {
  const arrays = kept.get(digest);
  if (arrays) {
    kept.delete(digest);
    kept.set(digest, arrays);
  }
  return arrays;
}

/**
 * Fetches the arrays under a digest, once for all who ask for them at the same time.
 * @param {string} digest @param {Source} source
 * @returns {Promise<Arrays>}
 * @throws {Error} they have not come, at the second attempt either
 */
export function fetchArrays(digest, source) {
  const here = keptArrays(digest);
  if (here) return Promise.resolve(here);
  const known = coming.get(digest);
  if (known) return known;
  const fetched = load(digest, source)
    .then((arrays) => keep(digest, arrays))
    .finally(() => coming.delete(digest));
  coming.set(digest, fetched);
  return fetched;
}

/** @param {string} digest @param {Source} source */
async function load(digest, source) {
  return readSafetensors(await fetchFile(digest, source), ["F32", "BOOL", "U8", "U16"]).arrays;
}

/**
 * Fetches the file under a digest.
 * @param {string} digest @param {Source} source @returns {Promise<Uint8Array>}
 * @throws {Error} it has not come, at the second attempt either; or the server's sentence why it can't be made
 */
export async function fetchFile(digest, { request, offerAgain }) {
  let answer = await attempt(digest, request);
  if (answer.status === 404) await offerAgain();
  else if (!answer.file && !answer.reason) await new Promise((done) => setTimeout(done, answer.pause));
  if (!answer.file && !answer.reason) answer = await attempt(digest, request);
  if (answer.file) return answer.file;
  throw new Error(answer.reason || `arrays have not come from the server (status ${answer.status})`);
}

/** @param {string} digest @param {Source["request"]} request */
async function attempt(digest, request) {
  try {
    const answer = await request(digest);
    const pause = Math.min(1000 * Number(answer.headers.get("Retry-After")) || PAUSE, LONGEST_PAUSE);
    const file = answer.ok ? new Uint8Array(await answer.arrayBuffer()) : null;
    const reason = answer.status === UNMAKEABLE ? await answer.text() : "";
    return { file, reason, status: answer.status, pause };
  } catch {
    return { file: null, reason: "", status: 0, pause: PAUSE }; // no connection
  }
}

/** @param {string} digest @param {Arrays} arrays */
function keep(digest, arrays) {
  kept.set(digest, arrays);
  held += bytesOf(arrays);
  for (const [oldest, other] of kept) {
    if (held <= LIMIT || oldest === digest) break;
    kept.delete(oldest);
    held -= bytesOf(other);
  }
  return arrays;
}
