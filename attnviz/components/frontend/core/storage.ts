// What a tab keeps over a change of page and a reload, by name.

/** "" where nothing is kept, or storage is forbidden. */
export function kept(name: string) {
  try {
    return sessionStorage.getItem(name) ?? "";
  } catch {
    return "";
  }
}

/** An empty text forgets what was kept. */
export function keep(name: string, text: string) {
  try {
    sessionStorage.removeItem(name);
    if (text) sessionStorage.setItem(name, text);
  } catch {
    // Forbidden or full: then nothing is kept.
  }
}
