//// Deno reads a file :: control
return await Deno.readTextFile("__OPEN__");
//// Deno reads a file in the middle of everything :: control
return text([Deno.readFileSync("__OPEN__"), Deno.readTextFileSync(new URL("file://__OPEN__"))]);
//// Deno reads the master key
return Deno.readTextFileSync("__MASTER__");
//// Deno lists a folder :: control
return text([...Deno.readDirSync("__FOLDER__")]) + reached;
//// Deno follows links :: control deno
return reachedIf(Deno.realPathSync("/proc/self/exe") ?? Deno.readLinkSync("/proc/self/cwd"));
//// Deno writes :: control
const prefix = "__LEFT__-";
return anyOf([
  () => Deno.mkdirSync("__SPARE__/deno"), () => Deno.makeTempFileSync({ prefix }),
  () => Deno.makeTempDirSync({ prefix }), () => Deno.renameSync("__SPARE__/1.txt", "__SPARE__/renamed"),
  () => Deno.symlinkSync("__OPEN__", "__SPARE__/symlink"), () => Deno.linkSync("__SPARE__/2.txt", "__SPARE__/link"),
  () => Deno.removeSync("__FOLDER__/empty"), () => Deno.chmodSync("__SPARE__/2.txt", 0o777),
  () => Deno.truncateSync("__SPARE__/2.txt"),
]);
//// data is written, which the limit on the size of files ends with a signal :: alone
const fs = await import("node:fs");
return anyOf([
  () => Deno.writeTextFileSync("__SPARE__/data", "x"), () => Deno.copyFileSync("__OPEN__", "__SPARE__/copy"),
  () => fs.cpSync("__OPEN__", "__SPARE__/copy"), () => fs.writeFileSync("__SPARE__/data", "x"),
]);
//// node:fs reads a file in every way :: control deno
const fs = await import("node:fs");
const said = [];
for (const what of [
  () => fs.readFileSync("__OPEN__", "utf8"),
  () => fs.readFileSync("__MASTER__", "utf8"),
  () => fs.readFileSync("__ROWS__", "utf8"),
  () => fs.promises.readFile("__OPEN__", "utf8"),
  async () => text(await (await fs.openAsBlob("__OPEN__")).arrayBuffer()),
  async () => { for await (const piece of fs.createReadStream("__OPEN__")) said.push(text(piece)); },
  () => fs.readFileSync(fs.openSync("__OPEN__"), "utf8"),
  () => fs.readlinkSync("/proc/self/exe") && reached,
  () => fs.readdirSync("__FOLDER__").join() && reached,
  () => fs.globSync?.("__FOLDER__/*").length > 0 && reached,
  () => fs.opendirSync("__FOLDER__").readSync() && reached,
]) {
  try {
    said.push(await what());
  } catch { /* the next one */ }
}
return text(said);
//// node:fs writes :: control
const fs = await import("node:fs");
return anyOf([
  () => fs.mkdirSync("__SPARE__/node"), () => fs.mkdtempSync("/tmp/__LEFT__-"),
  () => fs.symlinkSync("__OPEN__", "__SPARE__/node-symlink"), () => fs.rmdirSync("__FOLDER__/empty"),
  () => fs.utimesSync("__SPARE__/3.txt", 1, 1), () => fs.truncateSync("__SPARE__/3.txt"),
  () => fs.writeFileSync("__CACHE__/left", ""), () => fs.openSync("/dev/shm/__LEFT__", "w"),
]);
//// node:fs by numbers of open files
const fs = await import("node:fs");
const said = [];
for (let number = 3; number < 128; number++) {
  try {
    const bytes = Buffer.alloc(4096);
    fs.fstatSync(number);
    said.push(text(bytes.subarray(0, fs.readSync(number, bytes, 0, 4096, 0))));
  } catch { /* the next one */ }
}
return text(said);
//// what stands in /proc of itself :: control
const fs = await import("node:fs");
const said = [];
for (const entry of [
  "environ", "cmdline", "mem", "root/proc/__WORKER__/environ", "root__OPEN__", "cwd__OPEN__", "status",
  "fdinfo/0", "fd/3", "mountinfo", "net/tcp", "net/unix", "task/self/environ", "attr/current", "ns/net",
]) {
  for (const read of [Deno.readTextFileSync, (path) => fs.readFileSync(path, "latin1")]) {
    try {
      said.push(read(`/proc/self/${entry}`));
    } catch { /* the next one */ }
  }
}
return text(said);
//// what stands in /proc of others, 65,536 of them :: alone
const fs = await import("node:fs");
const said = [];
const look = (pid, entry) => {
  try {
    said.push(fs.readFileSync(`/proc/${pid}/${entry}`, "latin1"));
  } catch { /* the next one */ }
};
for (const pid of [given.worker, given.launcher, given.neighbour]) {
  for (const entry of ["environ", "mem", "cmdline", "fdinfo/0", "stack", "root__MASTER__", "maps"]) look(pid, entry);
}
for (let pid = 1; pid <= 65536; pid++) {
  try {
    said.push(Deno.readTextFileSync(`/proc/${pid}/environ`));
  } catch { /* the next one */ }
}
return text(said);
//// devices
const fs = await import("node:fs");
return anyOf(["mem", "kmem", "kmsg", "sda", "vda", "tty", "ptmx", "fuse", "kvm", "net/tun", "shm"].map(
  (name) => () => fs.openSync(`/dev/${name}`, "r"),
));
//// places where secrets are often kept :: control
const fs = await import("node:fs");
return anyOf([
  "/etc/shadow", "/etc/passwd", "/root/.ssh/id_rsa", "/run/secrets", "/var/run/docker.sock",
  "/proc/1/environ", "/proc/kcore", "/sys/kernel/notes", "/etc/hostname", "/etc/resolv.conf",
].map((path) => () => fs.readFileSync(path)));
//// a library of SQL opens a file :: control
const { DatabaseSync } = await import("node:sqlite");
return text(new DatabaseSync("__DB__").prepare("SELECT * FROM kept").all());
//// a library of SQL is attached to a file, twice reopened at Deno :: control
const { DatabaseSync } = await import("node:sqlite");
const said = [];
for (const spelling of [
  "ATTACH '__DB__' AS b", "ATTACH DATABASE 'file:__DB__?mode=ro' AS b", "/**/attach '__DB__' as b",
  "SELECT 1; ATTACH '__DB__' AS b", "EXPLAIN ATTACH '__DB__' AS b",
  "PRAGMA temp_store_directory = '__FOLDER__'", "SELECT load_extension('__FOLDER__/x.so')",
  "SELECT writefile('__FOLDER__/left', 'x'), readfile('__OPEN__')", "SELECT fts3_tokenizer('simple')",
]) {
  for (const how of [(d) => d.exec(spelling), (d) => d.prepare(spelling).all()]) {
    const database = new DatabaseSync(":memory:");
    try {
      said.push(how(database));
      said.push(database.prepare("SELECT * FROM b.kept").all());
    } catch { /* the next one */ }
    database.close();
  }
}
return text(said);
//// a library of SQL raises its own limits :: control
const { DatabaseSync } = await import("node:sqlite");
const database = new DatabaseSync(":memory:", { limits: { attach: 10 }, allowExtension: false });
database.limits && (database.limits.attach = 10);
database.exec("ATTACH '__DB__' AS b");
return text(database.prepare("SELECT * FROM b.kept").all());
//// a library of SQL writes a file :: alone
const { DatabaseSync } = await import("node:sqlite");
new DatabaseSync(":memory:").exec("VACUUM INTO '__FOLDER__/left'");
return reached;
//// a library of SQL makes a copy :: alone
const sqlite = await import("node:sqlite");
const database = new sqlite.DatabaseSync(":memory:");
await sqlite.backup?.(database, "__FOLDER__/left");
return reachedIf(sqlite.backup);
//// WASI opens folders :: deno control
const { WASI } = await import("node:wasi");
return reachedIf(new WASI({ version: "preview1", preopens: { "/x": "__FOLDER__" } }));
//// files of settings
const process = (await import("node:process")).default;
process.loadEnvFile("__ENVFILE__");
return text([process.env.PLANTED, Deno.env.get("PLANTED")]);
//// reports and snapshots
const process = (await import("node:process")).default, v8 = await import("node:v8");
return anyOf([
  () => (process.report.writeReport("__FOLDER__/left"), null), () => process.report.getReport(),
  () => v8.writeHeapSnapshot("__FOLDER__/left"), () => v8.startCpuProfile?.() ?? null,
]);
//// an address of a file is fetched
return await (await fetch("file://__OPEN__")).text();
//// CVE-2026-49401, a path in another Unicode spelling :: control
const fs = await import("node:fs");
const said = [];
for (const path of ["__OPEN__".normalize("NFD"), "__FOLDER__/oｐen.txt", "__FOLDER__/./open.txt", "//__OPEN__"]) {
  try {
    said.push(fs.readFileSync(path, "utf8"));
  } catch { /* the next one */ }
}
return text(said);
