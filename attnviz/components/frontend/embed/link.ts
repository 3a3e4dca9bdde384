// The address of a page of its own: what is chosen stands behind its "#", by the keys of the app's links.

import { settings } from "./page.ts";

const NUMBERS = ["head", "q", "k", "limit"];

/** What is chosen: as the address says, else as the page was made. */
export function chosen() {
  return { ...settings.view, ...Object.fromEntries(new URLSearchParams(location.hash.slice(1))) };
}

/** Whether type is as large as in lecture mode. */
export function isLecture() {
  return (chosen().lecture ?? String(Number(settings.lecture))) === "1";
}

/** As a walk has it. */
export function values(): Partial<WalkValues> {
  const { step, focus = "", predict, stretch = "0", ...rest } = chosen();
  const number: (name: string) => [string, unknown][] = (name) =>
    name in rest ? [[name, rest[name] === "" ? null : Number(rest[name])]] : [];
  return {
    ...(step && { step }),
    focus,
    predict: predict === "1",
    stretch,
    ...Object.fromEntries(NUMBERS.flatMap(number)),
  };
}

/** Writes what was changed. */
export function write(changed: Record<string, unknown>) {
  const link = new URLSearchParams(location.hash.slice(1));
  for (const [name, value] of Object.entries(changed)) {
    link.set(name, typeof value === "boolean" ? String(Number(value)) : String(value ?? ""));
  }
  try {
    history.replaceState(null, "", `#${link}`);
  } catch {
    // A frame that may not: then the view is as it is, and its address says nothing.
  }
}
