// Bundles src/solid.ts with three.js, and src/flat.ts, into two scripts of the Python package. Their first lines say
// from which sources they were made, and what the rest hashes to: a test compares both, so that it needs no npm.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const FOLDER = "../src/kousoku/viz/page";
const SETTINGS = ["build.mjs", "package-lock.json", "package.json", "tsconfig.json"];

const sha256 = (text) => createHash("sha256").update(text).digest("hex");

// Names and contents in the order of the names, each ended by a zero byte.
function sources() {
  const names = [...SETTINGS, ...readdirSync("src").map((name) => `src/${name}`)].sort();
  return sha256(names.map((name) => `${name}\0${readFileSync(name, "utf8").replaceAll("\r\n", "\n")}\0`).join(""));
}

async function bundle(entry, notice) {
  const made = await build({
    entryPoints: [`src/${entry}.ts`],
    bundle: true,
    charset: "ascii",
    format: "iife",
    globalName: "kousokuPlayer",
    legalComments: "none",
    minify: true,
    target: "es2022",
    write: false,
  });
  const script = notice + made.outputFiles[0].text;
  writeFileSync(`${FOLDER}/${entry}.js`, `/* sources ${sources()}, script ${sha256(script)} */\n${script}`);
  console.log(`${FOLDER}/${entry}.js: ${Math.round(script.length / 1000)} kB`);
}

const licence = readFileSync("node_modules/three/LICENSE", "utf8").trim();
const version = JSON.parse(readFileSync("node_modules/three/package.json", "utf8")).version;
await bundle("solid", `/*\nThis script contains three.js ${version}:\n\n${licence}\n*/\n`);
await bundle("flat", "");
