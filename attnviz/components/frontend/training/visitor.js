// Where a tab keeps the name of its trainings, over a reload.

const VISITOR = "attnviz-training";

export function readKept() {
  try {
    return sessionStorage.getItem(VISITOR) ?? "";
  } catch {
    return ""; // forbidden: then a reload begins anew
  }
}

/** @param {string} name */
export function writeKept(name) {
  try {
    sessionStorage.setItem(VISITOR, name);
  } catch {
    // Forbidden: then a reload begins anew.
  }
}
