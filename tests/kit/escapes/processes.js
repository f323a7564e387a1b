//// Deno starts a program
return anyOf([
  () => new Deno.Command("/bin/cat", { args: ["__OPEN__"] }).outputSync(),
  () => Deno.run({ cmd: ["/bin/true"] }), () => Deno.spawnAndWaitSync("/bin/true", []),
  () => new Deno.Command(Deno.execPath(), { args: ["eval", "1"] }).outputSync(),
]);
//// node:child_process starts programs :: control
const child = await import("node:child_process");
const said = [];
for (const what of [
  () => child.execFileSync("/bin/cat", ["__OPEN__"], { stdio: ["ignore", "pipe", "ignore"] }),
  () => child.execSync("cat __OPEN__", { stdio: ["ignore", "pipe", "ignore"] }),
  () => child.spawnSync("/bin/cat", ["__OPEN__"]).stdout,
  () => child.spawnSync("/bin/sh", ["-c", "cat __MASTER__ /proc/__WORKER__/environ"]).stdout,
]) {
  try {
    said.push(text(await what()));
  } catch { /* the next one */ }
}
return text(said);
//// node:child_process starts itself again :: alone
const child = await import("node:child_process");
const said = [];
await new Promise((done) => {
  const made = child.fork("data:text/javascript,process.send('__REACHED__')");
  made.on("message", (got) => { said.push(got); done(); });
  made.on("error", done);
  made.on("exit", done);
});
return text(said);
//// node:cluster starts workers :: alone
const cluster = (await import("node:cluster")).default;
const made = cluster.fork?.();
return reachedIf(made?.process?.pid);
//// signals
const process = (await import("node:process")).default;
return anyOf([given.worker, given.launcher, given.neighbour, 1, process.ppid].filter((pid) => pid > 0 && pid !== process.pid).flatMap((pid) => [
  () => process.kill(pid, 0), () => process.kill(pid, "SIGCONT"), () => Deno.kill(pid, "SIGCONT"),
]));
//// libraries of the system
return anyOf([
  () => Deno.dlopen("libc.so.6", { getpid: { parameters: [], result: "i32" } }),
  () => Deno.UnsafePointer.create(1n), () => new Deno.UnsafePointerView(null).getCString(),
  () => new Deno.UnsafeCallback({ parameters: [], result: "void" }, () => {}),
]);
//// libraries of node
const process = (await import("node:process")).default;
const { createRequire } = await import("node:module");
return anyOf([
  () => process.dlopen({ exports: {} }, "libc.so.6"), () => createRequire("file:///x.js")("/lib/x.node"),
  () => process.binding("fs").open("__OPEN__"), () => process.binding("spawn_sync").spawn({ file: "/bin/true" }),
  () => process._linkedBinding?.("fs").x.y ?? null,
]);
//// who and where it is :: deno control
const process = (await import("node:process")).default, os = await import("node:os");
return anyOf([
  () => Deno.hostname(), () => Deno.networkInterfaces(), () => Deno.osRelease(), () => Deno.uid(),
  () => Deno.systemMemoryInfo(), () => Deno.loadavg(), () => os.hostname(),
  () => os.userInfo(), () => os.networkInterfaces(), () => os.homedir(), () => process.getuid(),
]);
//// who it could become :: deno control
const process = (await import("node:process")).default, os = await import("node:os");
return anyOf([
  () => process.setuid(0), () => process.setgroups([0]), () => process.seteuid(0),
  () => process.initgroups("root", 0), () => os.setPriority(1, -20), () => Deno.chdir("__FOLDER__"),
]);
//// the environment
const process = (await import("node:process")).default;
const said = [Deno.env.toObject(), { ...process.env }, process.env.MAINSPRING_PLANTED, process.env.PATH];
for (const name of ["PATH", "HOME", "DENO_DIR", "MAINSPRING_PLANTED", "MAINSPRING_KEY"]) {
  said.push(Deno.env.get(name), process.env[name]);
}
const names = [...Object.keys(process.env), ...Object.keys(Deno.env.toObject())];
return text(said) + (names.some((name) => !name.startsWith("BRAINS_")) ? reached : "");
//// permissions are asked for :: deno control
const said = [];
for (const name of ["read", "write", "net", "env", "run", "ffi", "sys", "import"]) {
  for (const how of ["query", "request", "requestSync", "querySync"]) {
    try {
      const { state } = await Deno.permissions[how]({ name });
      if (state === "granted") said.push(name, reached);
    } catch { /* the next one */ }
  }
}
return text(said);
//// the inner parts of Deno
const inner = Deno[Deno.internal];
const said = [];
for (const [name, op] of Object.entries(inner?.core?.ops ?? {})) {
  if (!/napi|open|read|spawn|kill|env/.test(name)) continue;
  for (const given of [["__OPEN__"], ["__OPEN__", {}, [], []], []]) {
    try {
      said.push(text(await op(...given)));
    } catch { /* the next one */ }
  }
}
for (const number of [0, 3, 4, 5, 6, 7, 8, 9, 10]) {
  try {
    if (number > 2) said.push(text(inner.core.readAll && await inner.core.readAll(number)));
  } catch { /* the next one */ }
}
return text(said);
//// the inner parts of Deno under other names
const said = [];
for (const found of [
  Deno.core, globalThis.__bootstrap, globalThis.Deno?.core, globalThis.bootstrap, globalThis.__node__,
  Deno[Symbol.for("Deno.internal")], Deno[Deno.internal]?.__nodeBootstrapArgs,
]) {
  if (found?.ops?.op_read_file_sync) said.push(reached);
  said.push(found && Object.keys(found).length);
}
return text(said);
//// threads that know nothing of the sandbox :: alone roomy control
const { Worker } = await import("node:worker_threads");
return await new Promise((done) => {
  const thread = new Worker(
    `const { parentPort } = require("node:worker_threads"); const said = [];
     for (const what of [() => Deno.readTextFileSync("__OPEN__"), () => require("fs").readFileSync("__MASTER__", "utf8"),
       () => Deno.env.toObject().MAINSPRING_PLANTED, () => Deno.connect({ port: __TCP__ }) && null,
       () => new TextDecoder().decode(new Deno.Command("/bin/cat", { args: ["__OPEN__"] }).outputSync().stdout),
       () => { Deno.kill(__WORKER__, "SIGCONT"); return "__REACHED__"; },
       () => { localStorage.setItem("left", "x"); return null; }]) {
       try { said.push(what()); } catch (error) { said.push(error.name); }
     }
     parentPort.postMessage(JSON.stringify(said));`,
    { eval: true, env: {}, resourceLimits: {} },
  );
  thread.on("message", done);
  thread.on("error", () => done(null));
});
//// a thread with permissions of its choice :: alone roomy
const { Worker } = await import("node:worker_threads");
return await new Promise((done) => {
  const thread = new Worker(
    new URL("data:text/javascript,postMessage(Deno.readTextFileSync('__OPEN__'))"),
    { deno: { permissions: { read: true } }, type: "module", execArgv: ["--allow-read"] },
  );
  thread.on("message", done);
  thread.on("error", () => done(null));
  thread.on("exit", () => done(null));
});
//// a thread of the web
const said = [];
for (const address of [
  "file://__TS__", "data:text/javascript,postMessage(Deno.readTextFileSync('__OPEN__'))",
  "blob:null/x", "http://127.0.0.1:__TCP__/w.js",
]) {
  try {
    const made = new Worker(address, { type: "module", deno: { permissions: "inherit" } });
    said.push(await new Promise((done) => { made.onmessage = (event) => done(event.data); made.onerror = () => done(null); }));
  } catch { /* the next one */ }
}
return text(said);
//// the inspector :: deno
const inspector = await import("node:inspector");
return anyOf([
  () => inspector.open(0, "127.0.0.1"), () => new inspector.Session().connect(),
  () => inspector.url() ?? null,
]);
//// other worlds of the same engine :: control
const vm = await import("node:vm");
const said = [];
for (const code of [
  "this.constructor.constructor('return Deno.readTextFileSync(\"__OPEN__\")')()",
  "this.constructor.constructor('return process.env.MAINSPRING_PLANTED')()",
  "typeof require === 'function' && require('fs').readFileSync('__OPEN__', 'utf8')",
  "import('file://__TS__').then((m) => m.default)",
]) {
  for (const how of [vm.runInNewContext, vm.runInThisContext, (c) => new Function(`return ${c}`)(), eval]) {
    try {
      said.push(await how(code));
    } catch { /* the next one */ }
  }
}
return text(said);
//// the prompt of node :: alone
const repl = await import("node:repl");
return reachedIf(repl.start?.({ input: null })?.context?.require?.("fs")?.readFileSync("__OPEN__"));
//// flags of the engine
const v8 = await import("node:v8");
v8.setFlagsFromString("--allow-natives-syntax");
v8.setFlagsFromString("--max-old-space-size=9999");
v8.setFlagsFromString("--expose-gc");
return text([v8.getHeapStatistics().heap_size_limit, Deno.memoryUsage()]);
//// the graphics of the machine
const adapter = await navigator.gpu?.requestAdapter();
const device = await adapter?.requestDevice();
return text([adapter?.info?.vendor, device?.label]);
//// questions at the terminal
return anyOf([() => prompt("key?"), () => confirm("sure?") && reached, () => alert("x")]);
//// things that run later
return anyOf([
  () => Deno.cron("x", "* * * * *", () => {}), () => Deno.test("x", () => {}),
  () => Deno.bench("x", () => {}), () => Deno.openKv("__FOLDER__/left"),
  () => Deno.bundle({ entrypoints: ["__TS__"] }), () => Deno.lint.runPlugin({}, "x.ts", "1"),
  () => Deno.watchFs("__FOLDER__"), () => Deno.jupyter.display({}),
]);
//// memory shared with others :: alone
const shared = new SharedArrayBuffer(1 << 20);
Atomics.add(new Int32Array(shared), 0, 1);
const memory = new WebAssembly.Memory({ initial: 1, maximum: 4, shared: true });
return text([Atomics.load(new Int32Array(shared), 1), [...new Uint8Array(memory.buffer).slice(0, 64)]]);
//// WebAssembly reads what was there before
const said = [];
for (let turn = 0; turn < 20; turn++) {
  said.push(text(new Uint8Array(new WebAssembly.Memory({ initial: 16 }).buffer)).replaceAll("\0", ""));
  said.push(text(new Uint8Array(Buffer.allocUnsafe(65536))).replaceAll("\0", "").slice(0, 65536));
}
return said.join("");
//// the name of the script's own process, for ever :: alone
const process = (await import("node:process")).default;
process.title = "mainspring worker";
process.on("SIGTERM", () => {});
Deno.addSignalListener("SIGINT", () => {});
process.umask(0);
return text([process.argv0]);
