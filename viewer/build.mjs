// Bundles the scripts of the Python package's pages: the report (with uPlot), the player in the plane, and the player in
// space (with three.js). Their first lines say from which sources they were made, and what the rest hashes to: a test
// compares both, so that it needs no npm.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const FOLDER = "../src/kousoku/viz/page";
const SETTINGS = ["build.mjs", "package-lock.json", "package.json", "tsconfig.json"];

const sha256 = (text) => createHash("sha256").update(text).digest("hex");

// Names and contents in the order of the names, each ended by a zero byte.
function sources() {
  const files = readdirSync("src", { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files.map((entry) => `${entry.parentPath}/${entry.name}`.replaceAll("\\", "/"));
  const names = [...SETTINGS, ...paths].sort();
  return sha256(names.map((name) => `${name}\0${readFileSync(name, "utf8").replaceAll("\r\n", "\n")}\0`).join(""));
}

// The licence of a library, which asks to be kept in copies.
function notice(library) {
  const licence = readFileSync(`node_modules/${library.folder}/LICENSE`, "utf8").trim();
  const { version } = JSON.parse(readFileSync(`node_modules/${library.folder}/package.json`, "utf8"));
  return `/*\nThis script contains ${library.name} ${version}:\n\n${licence}\n*/\n`;
}

async function bundle(entry, name, globalName, ...libraries) {
  const made = await build({
    entryPoints: [`src/${entry}`],
    bundle: true,
    charset: "ascii",
    format: "iife",
    globalName,
    legalComments: "none",
    loader: { ".css": "text" },
    minify: true,
    target: "es2022",
    write: false,
  });
  const script = libraries.map(notice).join("") + made.outputFiles[0].text;
  writeFileSync(`${FOLDER}/${name}`, `/* sources ${sources()}, script ${sha256(script)} */\n${script}`);
  console.log(`${FOLDER}/${name}: ${Math.round(script.length / 1000)} kB`);
}

await bundle("player/solid.ts", "solid.js", "kousokuPlayer", { name: "three.js", folder: "three" });
await bundle("player/flat.ts", "flat.js", "kousokuPlayer");
await bundle("report/page.ts", "report.js", "kousokuReport", { name: "uPlot", folder: "uplot" });
