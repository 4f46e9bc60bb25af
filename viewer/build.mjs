// Bundles src/main.ts and three.js into one script of the Python package. Its first line says from which sources it
// was made, and what the rest hashes to: a test compares both, so that it needs no npm.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const TARGET = "../src/kousoku/viz/page/viewer.js";
const SETTINGS = ["build.mjs", "package-lock.json", "package.json", "tsconfig.json"];

const sha256 = (text) => createHash("sha256").update(text).digest("hex");

// Names and contents in the order of the names, each ended by a zero byte.
function sources() {
  const names = [...SETTINGS, ...readdirSync("src").map((name) => `src/${name}`)].sort();
  return sha256(names.map((name) => `${name}\0${readFileSync(name, "utf8").replaceAll("\r\n", "\n")}\0`).join(""));
}

const made = await build({
  entryPoints: ["src/main.ts"],
  bundle: true,
  charset: "ascii",
  format: "iife",
  legalComments: "none",
  minify: true,
  target: "es2022",
  write: false,
});
const licence = readFileSync("node_modules/three/LICENSE", "utf8").trim();
const version = JSON.parse(readFileSync("node_modules/three/package.json", "utf8")).version;
const notice = `/*\nThis script contains three.js ${version}:\n\n${licence}\n*/\n`;
const script = notice + made.outputFiles[0].text;
writeFileSync(TARGET, `/* sources ${sources()}, script ${sha256(script)} */\n${script}`);
console.log(`${TARGET}: ${Math.round(script.length / 1000)} kB`);
