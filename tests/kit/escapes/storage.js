//// storage of the page
localStorage.setItem("left", given.left);
//// found: storage of the page
return localStorage.getItem("left");
//// storage of the session
sessionStorage.setItem("left", given.left);
//// found: storage of the session
return sessionStorage.getItem("left");
//// storage behind its refusal
const made = Object.getPrototypeOf(Storage ?? {}) && Object.create(Storage.prototype);
made.setItem("left", given.left);
//// found: storage behind its refusal
return Object.create(Storage.prototype).getItem("left");
//// caches
await (await caches.open("left")).put("http://x/", new Response(given.left));
//// found: caches
return await (await (await caches.open("left")).match("http://x/")).text();
//// caches behind their refusal
await (await CacheStorage.prototype.open.call(Object.create(CacheStorage.prototype), "left"))
  .put("http://x/", new Response(given.left));
//// found: caches behind their refusal
const opened = await CacheStorage.prototype.open.call(Object.create(CacheStorage.prototype), "left");
return await (await opened.match("http://x/")).text();
//// tables of the web
indexedDB.open("left").result.createObjectStore(given.left);
//// found: tables of the web
return text(await indexedDB.databases());
//// a store of keys
await (await Deno.openKv()).set(["left"], given.left);
//// found: a store of keys
return text(await (await Deno.openKv()).get(["left"]));
//// a channel to others
new BroadcastChannel("left").postMessage(given.left);
//// found: a channel to others
return await new Promise((done) => { new BroadcastChannel("left").onmessage = (event) => done(event.data); });
//// the folder for things that pass
(await import("node:fs")).mkdirSync(`/tmp/__LEFT__-${given.left}`);
//// found: the folder for things that pass
return (await import("node:fs")).readdirSync("/tmp").filter((name) => name.startsWith("__LEFT__")).join();
//// shared memory with a name
(await import("node:fs")).symlinkSync(given.left, "/dev/shm/__LEFT__-planted");
//// found: shared memory with a name
return (await import("node:fs")).readlinkSync("/dev/shm/__LEFT__-planted");
//// the folder of Deno
(await import("node:fs")).symlinkSync(given.left, "__CACHE__/left");
//// found: the folder of Deno
return (await import("node:fs")).readlinkSync("__CACHE__/left");
//// everything that is global
globalThis.left = Object.prototype.left = Symbol.for("left").description = given.left;
//// found: everything that is global
return text([globalThis.left, {}.left, Symbol.for("left").description]);
//// addresses of blobs
globalThis.name = URL.createObjectURL(new Blob([given.left]));
//// found: addresses of blobs
return text(await (await import("node:buffer")).resolveObjectURL?.(globalThis.name ?? "blob:null/x")?.text());
//// locks and tables of SQL
const { DatabaseSync } = await import("node:sqlite");
new DatabaseSync("file:left?mode=memory&cache=shared").exec(`CREATE TABLE left AS SELECT '${given.left}' AS x`);
//// found: locks and tables of SQL
const { DatabaseSync } = await import("node:sqlite");
return text(new DatabaseSync("file:left?mode=memory&cache=shared").prepare("SELECT * FROM left").all());
