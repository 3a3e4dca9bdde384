// Arrays under digests: of the app, those that the page has offered (attnviz/runtime/arrays.py); elsewhere, names
// that no other text or model has. A digest stands for the same numbers for ever, so what has come stays here while
// there is room: beyond the component, the page and the text.

import { NotCome, Refused } from "./files.ts";
import { readSafetensors } from "./safetensors.ts";

const LIMIT = 64 * 1024 * 1024; // bytes
export const NO_CONNECTION = "the server does not answer";
const UNMAKEABLE = 422; // the status where the server's answer says why there is nothing, now and later

export interface Source {
  /** as `fetch` does; who has the file makes a Response of it */
  request: (digest: string) => Promise<Response>;
  /** asks the page to offer again what the server does not have any more */
  offerAgain: () => Promise<unknown>;
}

/** Files of a host that has them as long as it is there. */
export const sourceOf = (host: Pick<Host, "request">): Source => ({
  request: (name) => host.request(name),
  offerAgain: async () => {},
});

/** by digest, what was used longest ago first */
const kept: Map<string, Arrays> = new Map();
let held = 0; // bytes
const coming: Map<string, Promise<Arrays>> = new Map();

export const bytesOf = (arrays: Arrays) => Object.values(arrays).reduce((sum, { data }) => sum + data.byteLength, 0);

/** One of the equal parts of an array along its first axis. */
export function partOf({ data, shape }: Packed, n: number) {
  const each = data.length / shape[0];
  return data.subarray(n * each, (n + 1) * each);
}

/** The arrays under a digest, if they are here. */
export function keptArrays(digest: string) {
  const arrays = kept.get(digest);
  if (arrays) {
    kept.delete(digest);
    kept.set(digest, arrays);
  }
  return arrays;
}

/**
 * Fetches the arrays under a digest, once for all who ask for them at the same time.
 * @returns rejects as `fetchFile` does
 */
export function fetchArrays(digest: string, source: Source): Promise<Arrays> {
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

async function load(digest: string, source: Source) {
  return readSafetensors(await fetchFile(digest, source)).arrays;
}

/**
 * Fetches the file under a digest; where the server does not have it any more, once more after it was offered again.
 * @throws {Refused} it can't be made; the message is the server's sentence why
 *
 * @throws {NotCome} it has not come
 */
export async function fetchFile(digest: string, { request, offerAgain }: Source): Promise<Uint8Array> {
  let answer = await attempt(digest, request);
  if (answer.status === 404) {
    await offerAgain();
    answer = await attempt(digest, request);
  }
  if (answer.file) return answer.file;
  if (answer.reason) throw new Refused(answer.reason);
  throw new NotCome(answer.why || `the server answers with status ${answer.status}`, answer.pause);
}

async function attempt(digest: string, request: Source["request"]) {
  try {
    const answer = await request(digest);
    const pause = 1000 * Number(answer.headers.get("Retry-After")) || 0;
    const file = answer.ok ? new Uint8Array(await answer.arrayBuffer()) : null;
    const reason = answer.status === UNMAKEABLE ? await answer.text() : "";
    return { file, reason, status: answer.status, pause, why: "" };
  } catch (error) {
    if (error instanceof Refused) throw error;
    const why = error instanceof Error && !(error instanceof TypeError) ? error.message : NO_CONNECTION;
    return { file: null, reason: "", status: 0, pause: 0, why };
  }
}

function keep(digest: string, arrays: Arrays) {
  kept.set(digest, arrays);
  held += bytesOf(arrays);
  for (const [oldest, other] of kept) {
    if (held <= LIMIT || oldest === digest) break;
    kept.delete(oldest);
    held -= bytesOf(other);
  }
  return arrays;
}
