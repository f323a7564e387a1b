//// a loop
for (;;);
//// a loop that gives way
for (;;) await null;
//// a loop of WebAssembly
const bytes = [0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 8, 1, 0, 10, 9, 1, 7, 0, 3, 64, 12, 0, 11, 11];
await WebAssembly.instantiate(new Uint8Array(bytes));
//// typed arrays
const kept = []; for (;;) kept.push(new Uint8Array(4 << 20).fill(1));
//// shared arrays
const kept = []; for (;;) kept.push(new Uint8Array(new SharedArrayBuffer(4 << 20)).fill(1));
//// an array that grows in place
const grown = new ArrayBuffer(0, { maxByteLength: 4e9 });
for (let n = 1;; n++) { grown.resize(n << 22); new Uint8Array(grown).fill(1, (n - 1) << 22); }
//// memory of WebAssembly
const memory = new WebAssembly.Memory({ initial: 1, maximum: 65536 });
for (;;) { memory.grow(64); new Uint8Array(memory.buffer).fill(1, memory.buffer.byteLength - (64 << 16)); }
//// strings
let all = "x"; const kept = []; for (;;) { all += all.slice(0, 1 << 20); kept.push(all.split("").join("")); }
//// objects
const kept = []; for (;;) kept.push({ a: [1, 2, 3], b: new Map([[1, {}]]) });
//// blobs
const kept = []; for (;;) { kept.push(new Blob([new Uint8Array(4 << 20).fill(1)])); await null; }
//// addresses of blobs
for (;;) { URL.createObjectURL(new Blob([new Uint8Array(1 << 20).fill(1)])); await null; }
//// a million timers
for (let n = 0; n < 1e6; n++) setTimeout(() => {}, 1e6 + n); await new Promise(() => {});
//// intervals that never end
for (let n = 0; n < 1e4; n++) setInterval(() => { for (let m = 0; m < 1e3; m++); }, 0); await new Promise(() => {});
//// a fork of threads
const { Worker } = await import("node:worker_threads");
for (;;) { new Worker("for (;;);", { eval: true }); await new Promise((done) => setTimeout(done, 5)); }
//// a gigabyte of output
const piece = new Uint8Array(1 << 20).fill(120); for (let n = 0; n < 1024; n++) Deno.stdout.writeSync(piece);
//// a million lines of errors
for (let n = 0; n < 1e6; n++) console.error("line " + n + " ".repeat(100));
//// one line without an end
const piece = new TextEncoder().encode("x".repeat(1 << 16)); for (;;) Deno.stdout.writeSync(piece);
//// zeros that look like frames
const piece = new Uint8Array(1 << 16); for (;;) Deno.stdout.writeSync(piece);
//// a frame without an end
await brains.x({ a: "x".repeat(64 << 20) });
//// questions that are never answered
for (let n = 0; n < 1e6; n++) brains.hold({ n }); await new Promise(() => {});
//// large questions that are never answered
const a = "x".repeat(1 << 19); for (;;) brains.hold({ a });
//// a million fetches
const all = []; for (let n = 0; n < 1e6; n++) all.push(fetch("http://127.0.0.1:1/" + n).catch(() => {})); await Promise.all(all);
//// recursion
const deep = (n) => deep(n + 1) + deep(n + 2); deep(0);
//// recursion that catches its end
const deep = () => { try { deep(); } finally { deep(); } }; deep();
//// a pattern that never ends
/^(a+)+$/.test("a".repeat(60) + "b");
//// numbers without end
let n = 7n; for (;;) n = n ** 3n;
//// sorting with lies
for (;;) Array.from({ length: 1e6 }, () => 1).sort(() => Math.random() - 0.5);
//// a disk full of files
let done = 0;
for (let n = 0; n < 500; n++) { try { Deno.writeFileSync(Deno.makeTempFileSync(), new Uint8Array(1 << 20)); done++; } catch { /* the next one */ } }
return done;
//// a database in memory
const { DatabaseSync } = await import("node:sqlite");
const database = new DatabaseSync(":memory:");
database.exec("CREATE TABLE a (b); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) INSERT INTO a SELECT randomblob(65536) FROM n");
//// a question to a database that never ends
const { DatabaseSync } = await import("node:sqlite");
new DatabaseSync(":memory:").prepare("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n").get();
//// a bomb that unpacks itself
const squeezed = await new Response(new Blob([new Uint8Array(32 << 20)]).stream().pipeThrough(new CompressionStream("gzip"))).arrayBuffer();
const kept = []; for (;;) kept.push(await new Response(new Blob([squeezed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());
//// promises without end
const flood = () => Promise.all(Array.from({ length: 1e5 }, () => new Promise(() => {}))); const kept = []; for (;;) kept.push(flood());
//// copies of copies
let held = [1]; for (;;) held = [structuredClone(held), structuredClone(held)];
//// a text that is larger than itself
let held = []; for (let n = 0; n < 40; n++) held = [held, held]; JSON.stringify(held);
//// keys that take for ever
const { pbkdf2Sync } = await import("node:crypto"); pbkdf2Sync("a", "b", 2e9, 64, "sha512");
//// keys that take all memory
const { scryptSync } = await import("node:crypto"); scryptSync("a", "b", 64, { N: 1 << 22, r: 8, maxmem: 1e12 });
//// waiting without a clock
Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
//// deaf to signals
for (const name of ["SIGTERM", "SIGINT", "SIGXCPU", "SIGHUP"]) { try { Deno.addSignalListener(name, () => {}); } catch { /* the next one */ } }
for (;;);
//// patterns of patterns
const kept = []; for (let n = 0;; n++) kept.push(new RegExp("(a|b|" + n + "){1000}").test("ab".repeat(500)));
//// code that makes code
const kept = []; for (let n = 0;; n++) kept.push(new Function("return " + "1+".repeat(1e5) + n));
//// modules that make modules
for (let n = 0;; n++) await import("data:text/javascript,export default " + n + "/*" + "x".repeat(1e5) + "*/");
//// errors with long memories
Error.stackTraceLimit = Infinity; const kept = []; const deep = (n) => n ? deep(n - 1) : kept.push(new Error("x").stack); for (;;) deep(5000);
//// channels that nobody reads
const { port1 } = new MessageChannel(); for (;;) port1.postMessage(new Uint8Array(1 << 20).fill(1));
//// pictures
const kept = []; for (;;) kept.push(new ImageData(4096, 4096));
//// no memory left for the end
const kept = []; addEventListener("unload", () => { for (;;); }); try { for (;;) kept.push(new Array(1e6).fill(1.5)); } catch { for (;;); }
