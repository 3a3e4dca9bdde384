// The address of a page of its own: what is chosen stands behind its "#", by the keys of the app's links.

import { LINK_KEYS } from "../core/constants.ts";
import { valueOf } from "./link_values.ts";
import { settings } from "./page.ts";

/** What a walk gets from a link besides its step. */
const OF_WALK = ["head", "q", "k", "limit", "focus", "predict", "stretch", "dim", "why", "play"] as const;

/** Whether it goes back to its default where the address no longer has it. */
const isAlwaysSet = (name: (typeof OF_WALK)[number]) => ["focus", "predict", "stretch", "dim", "why"].includes(name);

/** What is chosen: as the address says, else as the page was made. */
export function chosen() {
  return { ...settings.view, ...Object.fromEntries(new URLSearchParams(location.hash.slice(1))) };
}

/** Whether type is as large as in lecture mode. */
export function isLecture() {
  return (valueOf("lecture", chosen().lecture ?? "") ?? settings.lecture) === true;
}

/** As a walk has it; where the address says what a key does not take, as the page was made. */
export function values(): Partial<WalkValues> {
  const made: Record<string, string> = settings.view;
  const { step, ...said } = chosen();
  const read = (name: (typeof OF_WALK)[number]): [string, unknown][] => {
    const value = [said, made]
      .flatMap((link) => (name in link ? [valueOf(name, link[name])] : []))
      .find((one) => one !== undefined);
    if (value !== undefined) return [[name, value]];
    return isAlwaysSet(name) ? [[name, LINK_KEYS[name].default]] : [];
  };
  return { ...(step && { step }), ...Object.fromEntries(OF_WALK.flatMap(read)) };
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
