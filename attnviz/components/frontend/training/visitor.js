// Where a tab keeps the name of its trainings, over a reload.

const VISITOR = "attnviz-training";

function readKept() {
  try {
    return sessionStorage.getItem(VISITOR) ?? "";
  } catch {
    return ""; // forbidden: then a reload begins anew
  }
}

/** @param {string} name */
function writeKept(name) {
  try {
    sessionStorage.setItem(VISITOR, name);
  } catch {
    // Forbidden: then a reload begins anew.
  }
}

/**
 * After a reload the tab still knows the name of its trainings.
 * @param {{ set: (values: { visitor: string }) => unknown }} updates @param {string} given
 */
export function findAgain(updates, given) {
  const kept = readKept();
  if (kept && kept !== given) updates.set({ visitor: kept });
  else writeKept(given);
}
