// What the server does for exports: it has the font's file, and writes PDF and slides.

let loading: Promise<Set<string>> | null = null;

export class ExportServer {
  paths: ExportPaths;
  address: string;

  /** @param address where they begin */
  constructor(paths: ExportPaths, address: string) {
    this.paths = paths;
    this.address = address;
  }

  /** The characters of the font, fetched once. */
  letters(): Promise<Set<string>> {
    loading ??= ask(this.address + this.paths.letters)
      .then(async (answer) => new Set(await answer.text()))
      .catch((why) => {
        loading = null; // the next try asks again
        throw why;
      });
    return loading;
  }

  /** The font with these characters only, each weight as a WOFF2 file in base64. */
  async fonts(characters: Weights): Promise<Weights> {
    const answer = await ask(this.address + this.paths.fonts, JSON.stringify(characters));
    return answer.json();
  }

  /** A recorded picture as PDF, or a list of them as a deck. */
  async file(format: "pdf" | "pptx", recorded: string) {
    const answer = await ask(this.address + this.paths[format], recorded);
    return answer.blob();
  }
}

/** Sends JSON, or without any asks for a file. An Error's message is a sentence to show. */
async function ask(address: string, json?: string) {
  const how = json && { method: "POST", headers: { "Content-Type": "application/json" }, body: json };
  const answer = await fetch(address, how || {}).catch(() => null);
  if (answer?.ok) return answer;
  const said = answer?.headers.get("Content-Type")?.startsWith("text/plain") ? await answer.text() : "";
  throw new Error(`${said || "The server did not answer."} PNG needs no server.`);
}
