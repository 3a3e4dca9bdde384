// Where a tab keeps the name of its trainings, over a reload.

const VISITOR = "attnviz-training";

function readKept() {
  try {
    return sessionStorage.getItem(VISITOR) ?? "";
  } catch {
    return ""; // forbidden: then a reload begins anew
  }
}

function writeKept(name: string) {
  try {
    sessionStorage.setItem(VISITOR, name);
  } catch {
    // Forbidden: then a reload begins anew.
  }
}

/** After a reload the tab still knows the name of its trainings. */
export function findAgain(updates: { set: (values: { visitor: string }) => unknown }, given: string) {
  const kept = readKept();
  if (kept && kept !== given) updates.set({ visitor: kept });
  else writeKept(given);
}
