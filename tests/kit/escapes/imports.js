//// a file as text by a name spelt out :: control
return (await import("file://__OPEN__", { with: { type: "text" } })).default;
//// a file as text by a computed name :: control
return (await import("file://" + given.open, { with: { type: "text" } })).default;
//// a file as JSON :: control
return text((await import("file://__JSON__", { with: { type: "json" } })).default);
//// a file as bytes
return text((await import("file://__OPEN__", { with: { type: "bytes" } })).default);
//// a file as TypeScript :: control
return (await import("file://__TS__")).default;
//// the master key as text
return (await import("file://__MASTER__", { with: { type: "text" } })).default;
//// the folder of the database
return (await import("file://__ROWS__", { with: { type: "text" } })).default;
//// a file through a data module :: control
return (await import(
  "data:text/javascript,import x from 'file://__OPEN__' with {type:'text'};export default x"
)).default;
//// a file through a data module in a data module :: control
const inner = `import x from "file://__OPEN__" with { type: "text" }; export default x`;
const outer = `export { default } from "data:text/javascript,${encodeURIComponent(inner)}"`;
return (await import("data:text/javascript," + encodeURIComponent(outer))).default;
//// a file through TypeScript in a data module :: control
return (await import(
  "data:application/typescript,import x from 'file://__OPEN__' with {type:'text'};export default x as string"
)).default;
//// a file through a blob module :: control
return (await import(blobOf(`export { default } from "file://__TS__"`))).default;
//// a file through a blob module as text :: control
return (await import(
  blobOf(`import x from "file://__OPEN__" with { type: "text" }; export default x`)
)).default;
//// a file through a late import in a blob module :: control
return await (await import(
  blobOf(`export default async () => (await import("file://__TS__")).default`)
)).default();
//// a file that WebAssembly imports :: control
const name = new TextEncoder().encode("file://__TS__"), field = new TextEncoder().encode("told");
const entry = [1, name.length, ...name, field.length, ...field, 0, 0];
const bytes = [0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 2, entry.length, ...entry, 8, 1, 0];
await import("data:application/wasm;base64," + btoa(String.fromCharCode(...bytes)));
return reachedIf(globalThis.told !== undefined);
//// a file as source that is not run
return text(await import.source?.("file://__OPEN__"));
//// a file found by import.meta.resolve :: control
const found = import.meta.resolve ? import.meta.resolve("file://__OPEN__") : "file://__OPEN__";
return (await import(found, { with: { type: "text" } })).default;
//// other spellings of a file's address :: control
const said = [];
for (const address of [
  "FILE://__OPEN__", "file:__OPEN__", "file://localhost__OPEN__", "file:///proc/self/root__OPEN__",
  "file:///proc/self/cwd/..__OPEN__", "file:///%2e%2e__OPEN__", "file:////__OPEN__", "__OPEN__",
  "../../../../../../../..__OPEN__", "file://__FOLDER__/%6fpen.txt", "file:///dev/fd/../..__OPEN__",
  "file://__FOLDER__/ｏpen.txt", "file://__FOLDER__/open.txt#x", "file://__FOLDER__/open.txt?x",
  "asset://__OPEN__", "ext:core/../..__OPEN__", "internal:__OPEN__", "vnd.file://__OPEN__",
]) {
  try {
    said.push((await import(address, { with: { type: "text" } })).default);
  } catch { /* the next one */ }
}
return text(said);
//// the environment of other processes, imported
const said = [];
for (const pid of [given.worker, given.launcher, given.neighbour, "self", "1", "thread-self"]) {
  for (const entry of ["environ", "cmdline", "maps", "mem", "fdinfo/0", "root/etc/passwd", "task/1/environ"]) {
    try {
      said.push((await import(`file:///proc/${pid}/${entry}`, { with: { type: "text" } })).default);
    } catch { /* the next one */ }
  }
}
return text(said.filter((one) => !/^[0-9a-f]+-[0-9a-f]+ /.test(one)));
//// the environment of the worker by a name spelt out
return (await import("file:///proc/__WORKER__/environ", { with: { type: "text" } })).default;
//// the environment of the worker through a data module
return (await import(
  "data:text/javascript,import x from 'file:///proc/__WORKER__/environ' with {type:'text'};export default x"
)).default;
//// modules from the network
const said = [];
for (const address of [
  "http://127.0.0.1:__TCP__/x.ts", "https://127.0.0.1:__TCP__/x.ts", "http://localhost:__TCP__/x.json",
  "npm:left-pad@1.3.0", "npm:/127.0.0.1:__TCP__/x", "jsr:@std/assert@1", "https://deno.land/std/version.ts",
  "https://esm.sh/left-pad", "https://raw.githubusercontent.com/denoland/deno/main/README.md",
  "node:../../__OPEN__", "bare-name", "git+ssh://127.0.0.1:__TCP__/x",
]) {
  try {
    said.push(address, Object.keys(await import(address)).length, reached);
  } catch { /* the next one */ }
}
return text(said);
//// the network through a data module
return reachedIf(await import(
  "data:text/javascript,import 'http://127.0.0.1:__TCP__/y.ts';export default 1"
));
//// a map of imports made up while it runs
const made = import.meta.resolve?.("mainspring-secret");
return text([made, (await import(made ?? "mainspring-secret")).default, reached]);
//// the bootstrap of the sandbox once more
const where = /file:\/\/[^\s)]+bootstrap\.js/.exec(new Error().stack)?.[0];
return reachedIf(where && await import(where + "?again"));
//// createRequire and its relatives :: control
const { createRequire, default: Module } = await import("node:module");
const require = createRequire("file://__FOLDER__/x.js");
const said = [];
for (const what of [
  () => require("__JSON__"), () => require("__TS__"), () => require("./open.json"),
  () => require("__OPEN__"), () => Module._load("__JSON__", null, false),
  () => Module._extensions[".js"]({ _compile: (got) => said.push(got) }, "__OPEN__"),
  () => Module.findPackageJSON?.("file://__FOLDER__/node_modules/pkg/x.js"),
]) {
  try {
    said.push(await what());
  } catch { /* the next one */ }
}
return text(said);
//// CVE-2026-49406, a package whose main file is elsewhere
const { createRequire } = await import("node:module");
return text(createRequire("file://__FOLDER__/x.js")("pkg"));
//// hooks that load modules
const module = await import("node:module");
module.register(
  "data:text/javascript,export async function load(){return{format:'module',shortCircuit:true,source:'export default 1'}}",
);
module.registerHooks?.({
  load: () => ({ format: "commonjs", shortCircuit: true, source: "module.exports = require('__JSON__')" }),
});
return text((await import("file:///nowhere.js")).default);
//// a static import of a text :: module control
import x from "file://__OPEN__" with { type: "text" };
export default () => x;
//// a static import of JSON :: module control
import x from "file://__JSON__" with { type: "json" };
export default () => x;
//// a static import of TypeScript :: module control
import x from "file://__TS__";
export default () => x;
//// a static import of the environment of the worker :: module
import x from "file:///proc/__WORKER__/environ" with { type: "text" };
export default () => x;
//// a static import of the neighbour's memory :: module
import x from "file:///proc/__NEIGHBOUR__/mem" with { type: "text" };
export default () => x;
//// a static import through a data module :: module control
import x from "data:text/javascript,export { default } from 'file://__TS__'";
export default () => x;
//// a static import from the network :: module
import "http://127.0.0.1:__TCP__/z.ts";
export default () => "__REACHED__";
//// a static import of a package :: module
import "npm:left-pad@1.3.0";
export default () => "__REACHED__";
//// a static import without an address :: module
import x from "__OPEN__" with { type: "text" };
export default () => x;
//// a deferred import :: module
import defer * as x from "file://__TS__";
export default () => x.default;
