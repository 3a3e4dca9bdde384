// What the server does for exports: it has the font's file, and writes PDF.

/** @type {Promise<Set<string>> | null} */
let loading = null;

export class ExportServer {
  /** @param {ExportPaths} paths @param {string} address where they begin */
  constructor(paths, address) {
    this.paths = paths;
    this.address = address;
  }

  /**
   * The characters of the font, fetched once.
   * @returns {Promise<Set<string>>}
   */
  letters() {
    loading ??= ask(this.address + this.paths.letters)
      .then(async (answer) => new Set(await answer.text()))
      .catch((why) => {
        loading = null; // the next try asks again
        throw why;
      });
    return loading;
  }

  /**
   * The font with these characters only, each weight as a WOFF2 file in base64.
   * @param {Weights} characters @returns {Promise<Weights>}
   */
  async fonts(characters) {
    const answer = await ask(this.address + this.paths.fonts, JSON.stringify(characters));
    return answer.json();
  }

  /**
   * A picture as PDF.
   * @param {string} recording
   */
  async pdf(recording) {
    const answer = await ask(this.address + this.paths.pdf, recording);
    return answer.blob();
  }
}

/**
 * Sends JSON, or without any asks for a file. An Error's message is a sentence to show.
 * @param {string} address @param {string} [json]
 */
async function ask(address, json) {
  const how = json && { method: "POST", headers: { "Content-Type": "application/json" }, body: json };
  const answer = await fetch(address, how || {}).catch(() => null);
  if (answer?.ok) return answer;
  const said = answer?.headers.get("Content-Type")?.startsWith("text/plain") ? await answer.text() : "";
  throw new Error(`${said || "The server did not answer."} PNG needs no server.`);
}
