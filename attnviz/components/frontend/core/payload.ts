// Reads a payload: a header and arrays in one safetensors file, as attnviz/components/payload.py writes it.

import { isObject, readSafetensors, refuse } from "./safetensors.ts";

const KEY = "header";

/**
 * Reads a payload; its arrays are views on it where its alignment allows.
 * @throws {DocumentError} where it is none; the message says why in one sentence
 */
export function readPayload<Header>(payload: Uint8Array): Payload<Header> {
  const { metadata, arrays } = readSafetensors(payload, "payload", ["F32", "U16", "U8"]);
  if (!Object.hasOwn(metadata, KEY)) refuse("The payload has no header.");
  return { header: parsed(metadata[KEY]) as Header, arrays };
}

function parsed(text: string) {
  const notObject = () => refuse("The payload's header is not a JSON object.");
  try {
    const header = JSON.parse(text);
    return isObject(header) ? header : notObject();
  } catch {
    return notObject();
  }
}
