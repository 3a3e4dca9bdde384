// Puts the modules of the browser side into the few files that are served, in attnviz/components/dist/.
//   npm run build   writes them
//   npm run built   fails unless they are what the sources make
// They are committed: to install and to run the app needs no Node.js.

import { createHash } from "node:crypto";
import { mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { rolldown } from "rolldown";

const HERE = import.meta.dirname;
const SOURCES = path.join(HERE, "attnviz/components/frontend");
const DIST = path.join(HERE, "attnviz/components/dist");

/** The components of the app, by the names in attnviz/components/built.py: one script each, which share others. */
const COMPONENTS = {
  compare: "compare/compare.ts",
  explorer: "heads/explorer.ts",
  export_view: "export/view.ts",
  generation: "generation/generation.ts",
  matrix: "matrix/matrix.ts",
  model_series: "model_series/model_series.ts",
  lecture: "page/lecture.ts",
  share: "page/share.ts",
  training: "training/training.ts",
  transformer: "page/transformer.ts",
  walk: "page/walk.ts",
};
const PAGES = ["compare", "heads", "mistake", "picture", "training", "walk"];
const WIDGETS = ["heads", "walk"];

/** Which of the modules that several components need stand together: few requests, and little that is not needed. */
const GROUPS = [
  { name: "captions", test: /frontend.(core.buckets|walk.(captions|pinned_fact))/ }, // fetched with a picture
  { name: "charts", test: /frontend.chart.(axes|enlarged|figure)/ }, // fetched with plotly.js
  { name: "base", test: /frontend.(core|marks|board.panel)/ },
  { name: "shapes", test: /frontend.export.svg_shapes/ }, // of charts: no part of a matrix
  { name: "learning", test: /frontend.(generation|model_series|training|export.curves)/ },
  { name: "steps", test: /frontend.(chart|inspector|motion|page|walk)/ },
  { name: "grid", test: /frontend.(grid|export.grid|heads.choice)/ }, // of all heads: no part of the first view
  { name: "drawing", test: /frontend/ },
].map((group, n) => ({ ...group, minShareCount: 2, priority: 9 - n, includeDependenciesRecursively: false }));

const app = await components();
const files = new Map([...(await scripts()), ["built.json", await about()]].sort());
for (const [name, text] of files) if (!text.endsWith("\n")) files.set(name, `${text}\n`);
if (process.argv.includes("--check")) await check();
else await write();

/** @returns {Promise<[string, string][]>} the path of each script in the folder, and its text */
async function scripts() {
  const ofPages = PAGES.map((name) => bundled(`pages/${name}`, `embed/${name}.ts`, "iife"));
  const widgets = WIDGETS.map((name) => bundled(`notebook/${name}`, `notebook/${name}.ts`));
  const others = await Promise.all([bundled("main/main", "main.ts"), ...ofPages, ...widgets]);
  return [...app.map(({ fileName, code }) => [`app/${fileName}`, code]), ...others.flat()];
}

/** The scripts of the components, and those that they share. */
async function components() {
  const input = Object.fromEntries(
    Object.entries(COMPONENTS).map(([name, entry]) => [name, path.join(SOURCES, entry)]),
  );
  return output(input, { codeSplitting: { groups: GROUPS } });
}

/** One script with all that it needs. */
async function bundled(name, entry, format = "esm") {
  const made = await output({ [name]: path.join(SOURCES, entry) }, { codeSplitting: false, format });
  return made.map(({ fileName, code }) => [fileName, code]);
}

async function output(input, format) {
  const options = {
    cwd: HERE,
    tsconfig: "tsconfig.json",
    preserveEntrySignatures: "allow-extension",
    logLevel: "warn",
  };
  const build = await rolldown({ input, ...options });
  const named = { entryFileNames: "[name].js", chunkFileNames: "[name].js" };
  const made = await build.generate({ minify: true, comments: { legal: false }, ...named, ...format });
  await build.close();
  return made.output;
}

/**
 * What Python has to know: the digest of the sources, which tells without Node.js whether the scripts are out of date,
 * and which scripts each component's script needs besides itself.
 */
async function about() {
  const names = (await readdir(SOURCES, { recursive: true })).filter((name) => name.endsWith(".ts"));
  const sources = names.map((name) => path.join(SOURCES, name));
  const digest = createHash("sha256");
  const listed = [...sources, path.join(HERE, "build.js")].map((file) => [relative(file), file]).sort();
  for (const [name, file] of listed) {
    const text = await readFile(file);
    digest.update(`${name} ${text.length}\n`).update(text);
  }
  const needed = Object.fromEntries(Object.keys(COMPONENTS).map((name) => [name, neededBy(`${name}.js`)]));
  return JSON.stringify({ sources: digest.digest("hex"), needed }, null, 2);
}

/** The scripts of the app that one imports, directly or through others. */
function neededBy(fileName) {
  const needed = new Set();
  const visit = (name) => {
    for (const imported of app.find((chunk) => chunk.fileName === name).imports) {
      if (needed.has(imported)) continue;
      needed.add(imported);
      visit(imported);
    }
  };
  visit(fileName);
  return [...needed].sort();
}

function relative(file) {
  return path.relative(HERE, file).split(path.sep).join("/");
}

async function write() {
  await rm(DIST, { recursive: true, force: true });
  for (const [name, text] of files) {
    const file = path.join(DIST, name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, text);
  }
  const size = [...files.values()].reduce((sum, text) => sum + text.length, 0);
  console.log(`${files.size} files, ${Math.round(size / 1000)} kB`);
}

async function check() {
  const there = await readdir(DIST, { recursive: true }).catch(() => []);
  const known = new Set(files.keys());
  const wrong = there
    .map((name) => name.split(path.sep).join("/"))
    .filter((name) => /\.\w+$/.test(name) && !known.has(name));
  for (const [name, text] of files) {
    const written = await readFile(path.join(DIST, name), "utf8").catch(() => null);
    if (written !== text) wrong.push(name);
  }
  if (wrong.length === 0) return;
  console.error(`attnviz/components/dist/ is not what the sources make: npm run build. (${wrong.sort().join(", ")})`);
  process.exitCode = 1;
}
