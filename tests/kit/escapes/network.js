//// Deno connects
const said = [];
for (const options of [
  { port: __TCP__ }, { hostname: "127.0.0.1", port: __TCP__ }, { hostname: "localhost", port: __TCP__ },
  { hostname: "::ffff:127.0.0.1", port: __TCP__ }, { transport: "unix", path: "__UNIX__" },
  { transport: "unix", path: "\0__ABSTRACT__" }, { transport: "vsock", cid: 2, port: __TCP__ },
]) {
  try {
    said.push(await Deno.connect(options), reached);
  } catch { /* the next one */ }
}
return text(said);
//// Deno listens
return anyOf([
  () => Deno.listen({ port: 0 }), () => Deno.listenDatagram({ port: 0, transport: "udp" }),
  () => Deno.serve({ port: 0 }, () => new Response("x")), () => Deno.listenTls({ port: 0, cert: "", key: "" }),
  () => Deno.listen({ transport: "unix", path: "__FOLDER__/left" }),
]);
//// the web fetches
const said = [];
for (const [address, init] of [
  ["http://127.0.0.1:__TCP__/", {}], ["http://localhost:__TCP__/", {}], ["http://[::1]:__TCP__/", {}],
  ["http://127.1:__TCP__/", { redirect: "follow" }], ["http://0x7f000001:__TCP__/", {}],
  ["http://x@127.0.0.1:__TCP__/", {}], ["file://__OPEN__", {}], ["blob:null/x", {}],
  ["http://127.0.0.1:__TCP__/", { client: {}, method: "POST", body: "x", duplex: "half" }],
  ["unix://__UNIX__", {}], ["http+unix://__UNIX__", {}], ["data:text/plain,x", {}],
]) {
  try {
    said.push(await (await fetch(address, init)).text(), reached);
  } catch { /* the next one */ }
}
return text(said);
//// the web fetches by the methods of others
return anyOf([
  () => fetch.call(globalThis, new Request("http://127.0.0.1:__TCP__/")),
  () => Deno.createHttpClient({ proxy: { url: "http://127.0.0.1:__TCP__" } }),
  () => new Deno.HttpClient(), () => globalThis.navigator.sendBeacon("http://127.0.0.1:__TCP__/", "x"),
  () => caches.default.add("http://127.0.0.1:__TCP__/"), () => WebAssembly.compileStreaming(fetch("http://127.0.0.1:__TCP__/")),
]);
//// CVE-2025-21620, a header that follows a redirect elsewhere
const answer = await fetch(given.door, { redirect: "follow", headers: { authorization: "Bearer x" } });
return text([answer.url, answer.redirected]) + (answer.redirected ? reached : "");
//// addresses that look like the door
const said = [];
for (const address of [
  given.door + "/../x", given.door + "?x", given.door + "#x", given.door.replace("/mcp", "/api/v1/me"),
  given.door.replace("//", "//127.0.0.1:__TCP__@"), given.door + "@127.0.0.1:__TCP__/",
]) {
  try {
    const answer = await fetch(address);
    if (new URL(address).href !== given.door && !address.includes("#")) said.push(address, reached);
  } catch { /* the next one */ }
}
return text(said);
//// CVE-2026-49860, a WebSocket by name
return anyOf([
  () => new WebSocket("ws://localhost:__TCP__/"), () => new WebSocket("ws://127.0.0.1:__TCP__/"),
  () => new WebSocketStream("ws://localhost:__TCP__/").opened, () => new EventSource("http://127.0.0.1:__TCP__/"),
  () => new WebTransport("https://127.0.0.1:__TCP__/").ready,
]);
//// a WebSocket of node :: alone
const http = await import("node:http");
const said = [];
for (const made of [http.WebSocket, http.EventSource, (await import("node:module")).default.WebSocket]) {
  try {
    await new Promise((done, refuse) => {
      const line = new made("ws://127.0.0.1:__TCP__/");
      line.onopen = () => done(said.push(reached));
      line.onerror = refuse;
    });
  } catch { /* the next one */ }
}
return text(said);
//// node:net connects :: control
const net = await import("node:net");
const said = [];
for (const options of [
  { port: __TCP__, host: "127.0.0.1" }, { port: __TCP__, host: "localhost" }, { path: "__UNIX__" },
  { path: "\0__ABSTRACT__" }, { port: __TCP__, host: "::ffff:127.0.0.1" }, { fd: 3 }, { fd: 4 },
]) {
  try {
    await new Promise((done, refuse) => {
      const line = net.connect(options, () => { said.push(reached); line.destroy(); done(); });
      line.on("error", refuse);
      setTimeout(refuse, 300);
    });
  } catch { /* the next one */ }
}
return text(said);
//// node:net listens :: alone control
const net = await import("node:net");
return await new Promise((done, refuse) => {
  const server = net.createServer().listen(0, "127.0.0.1", () => { server.close(); done(reached); });
  server.on("error", refuse);
});
//// node:http asks
const http = await import("node:http");
return await new Promise((done, refuse) => {
  const asked = http.get("http://127.0.0.1:__TCP__/", () => done(reached));
  asked.on("error", refuse);
});
//// node:https asks :: alone
const https = await import("node:https");
return await new Promise((done, refuse) => {
  https.get("https://127.0.0.1:__TCP__/", () => done(reached)).on("error", refuse);
});
//// node:http asks over a Unix socket :: alone
const http = await import("node:http");
return await new Promise((done, refuse) => {
  http.get({ socketPath: "__UNIX__", path: "/" }, () => done(reached)).on("error", refuse);
});
//// node:http2 and node:tls connect :: alone control
const http2 = await import("node:http2"), tls = await import("node:tls");
const said = [];
for (const open of [
  () => http2.connect("http://127.0.0.1:__TCP__"), () => tls.connect({ port: __TCP__, host: "127.0.0.1" }),
]) {
  try {
    await new Promise((done, refuse) => {
      const line = open();
      line.on("connect", () => done(said.push(reached)));
      line.on("error", refuse);
      setTimeout(refuse, 300);
    });
  } catch { /* the next one */ }
}
return text(said);
//// node:http listens :: control
const http = await import("node:http");
return await new Promise((done, refuse) => {
  const server = http.createServer().listen(0, () => { server.close(); done(reached); });
  server.on("error", refuse);
});
//// node:dgram sends :: alone
const dgram = await import("node:dgram");
return await new Promise((done, refuse) => {
  const made = dgram.createSocket("udp4");
  made.on("error", refuse);
  made.send("x", __UDP__, "127.0.0.1", (error) => error ? refuse(error) : done(null));
});
//// node:dns asks a server :: alone
const dns = await import("node:dns");
const resolver = new dns.promises.Resolver({ timeout: 200, tries: 1 });
resolver.setServers(["127.0.0.1:__UDP__"]);
return text(await resolver.resolve4("planted.example"));
//// node:dns looks names up
const dns = await import("node:dns");
const said = [];
for (const what of [
  () => dns.promises.lookup("localhost"), () => dns.promises.resolveTxt("planted.example"),
  () => dns.promises.reverse("127.0.0.1"), () => dns.promises.lookupService("127.0.0.1", 22),
]) {
  try {
    said.push(await what(), reached);
  } catch { /* the next one */ }
}
return text(said);
//// Deno asks a server of names
return anyOf([
  () => Deno.resolveDns("planted.example", "A", { nameServer: { ipAddr: "127.0.0.1", port: __UDP__ } }),
  () => Deno.resolveDns("localhost", "A"),
]);
//// a thread that fetches :: alone roomy control
const { Worker } = await import("node:worker_threads");
return await new Promise((done) => {
  const thread = new Worker(
    `const { parentPort } = require("node:worker_threads");
     Promise.allSettled([fetch("http://127.0.0.1:__TCP__/"), fetch("file://__OPEN__").then((got) => got.text()),
       fetch("data:text/plain,x").then(() => "x"), Deno.connect({ port: __TCP__ }), Deno.resolveDns("localhost", "A"),
       new Promise((done) => { const w = new WebSocket("ws://127.0.0.1:__TCP__/"); w.onopen = () => done("__REACHED__"); w.onerror = done; })])
       .then((all) => parentPort.postMessage(JSON.stringify(all.map((one) => one.value ?? null))));`,
    { eval: true },
  );
  thread.on("message", done);
  thread.on("error", () => done(null));
});
//// what is sent as telemetry
return anyOf([
  () => Deno.telemetry.tracerProvider.getTracer("x").startSpan("x").end() ?? fetch("http://127.0.0.1:__TCP__/"),
]);
