// Writes a sheet as SVG or PNG in the browser, or as PDF or slides on the server.

import { toCanvas } from "../pen/canvas.ts";
import { recording } from "../pen/recording.ts";
import { charactersOf, toSvg } from "../pen/svg.ts";
import type { ExportServer } from "./server.ts";

const MOST_PIXELS = 2 ** 26; // what a canvas may have everywhere

/**
 * Makes a Blob of a sheet; `format` is svg, png or, with a server, pdf. Without one, an SVG names its font but does not
 * hold it. An Error's message is a sentence to show.
 */
export async function makeFile(
  sheet: Sheet,
  format: string,
  { scale, server, family }: { scale: number; server: ExportServer | null; family: string },
) {
  if (format === "png") return pngOf(sheet, { scale, family });
  if (format === "pdf" && server) {
    return server.file(format, recording(sheet, { letters: await server.letters(), family }));
  }
  const [regular, bold] = [false, true].map((isBold) => charactersOf(sheet.marks, isBold));
  const fonts = server ? await server.fonts({ regular, bold }) : { regular: "", bold: "" };
  return new Blob([toSvg(sheet, fonts)], { type: "image/svg+xml" });
}

/** A deck with a slide for each sheet. */
export async function slidesOf(sheets: Sheet[], { server, family }: { server: ExportServer; family: string }) {
  const letters = await server.letters();
  return server.file("pptx", `[${sheets.map((sheet) => recording(sheet, { letters, family })).join()}]`);
}

export async function pngOf(sheet: Sheet, { scale, family }: { scale: number; family: string }): Promise<Blob> {
  if (sheet.width * sheet.height * scale ** 2 > MOST_PIXELS) {
    throw new Error(`The picture is too large for ${scale}×. Take a smaller size, or SVG.`);
  }
  const canvas = toCanvas(sheet, { scale, family });
  const blob: Blob | null = await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  if (!blob) throw new Error("The browser could not make the picture. Take a smaller size, or SVG.");
  return blob;
}
