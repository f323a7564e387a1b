// The trusted part of the sandbox. It waits for one frame on standard input, creates the globals
// that a script sees, runs it once, reports how it ended and exits. A script is only ever
// loaded as a blob under a computed name: such a module may not import a file.

const encoder = new TextEncoder();
const decoder = new TextDecoder();
// A script gets a reduced Deno object under the same name.
const { stdin, stdout, exit, inspect } = Deno;
const readSync = stdin.readSync.bind(stdin);
const readLater = stdin.read.bind(stdin);
const writeSync = stdout.writeSync.bind(stdout);
const toJson = JSON.stringify;
const fromJson = JSON.parse;

function writeAll(bytes) {
  for (let place = 0; place < bytes.length;) place += writeSync(bytes.subarray(place));
}

function readExactly(count) {
  const bytes = new Uint8Array(count);
  for (let place = 0; place < count;) {
    const taken = readSync(bytes.subarray(place));
    if (taken === null) exit(0);
    place += taken;
  }
  return bytes;
}

async function readExactlyLater(count) {
  const bytes = new Uint8Array(count);
  for (let place = 0; place < count;) {
    const taken = await readLater(bytes.subarray(place));
    if (taken === null) exit(0);
    place += taken;
  }
  return bytes;
}

const lengthOf = (head) => new DataView(head.buffer).getUint32(0);

async function load(text, type = "text/javascript") {
  const address = URL.createObjectURL(new Blob([text], { type }));
  try {
    return { address, module: await import(address) };
  } catch (error) {
    throw new Failed(error, address);
  } finally {
    URL.revokeObjectURL(address);
  }
}

class Failed {
  constructor(error, address) {
    this.error = error;
    this.address = address;
  }
}

// The host connection and the nonce; a script sees neither.
class Host {
  #mark = "";
  #clock;
  #last = 0;
  #waiting = new Map();
  #answers = new Set();
  #reading = false;

  constructor(clock) {
    this.#clock = clock;
  }

  begin(nonce) {
    this.#mark = `\u0000${nonce} `;
  }

  tell(message) {
    let text = toJson(message);
    // A lone surrogate cannot be stored; it is replaced.
    if (/\\ud[89a-f]/i.test(text)) text = toJson(message, (_, value) => wellFormed(value));
    writeAll(encoder.encode(this.#mark + text + "\n"));
  }

  ask(message) {
    const number = ++this.#last;
    const answer = new Promise((resolve) => this.#waiting.set(number, resolve));
    this.#answers.add(answer);
    answer.then(() => this.#answers.delete(answer));
    this.tell({ ...message(number) });
    this.#listen();
    return answer;
  }

  // Until there are no more pending calls: a call that the script did not await is made all the
  // same, and so is what follows from its result.
  async settled() {
    while (this.#waiting.size > 0) {
      await Promise.race([...this.#answers]);
      // Code that awaits the result runs now, and may call again or fail.
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
  }

  // Only while a call is pending: otherwise a script that waits for nothing is detected.
  async #listen() {
    if (this.#reading) return;
    this.#reading = true;
    while (this.#waiting.size > 0) {
      const head = await readExactlyLater(4);
      const answer = fromJson(decoder.decode(await readExactlyLater(lengthOf(head))));
      this.#clock.setAtLeast(answer.at);
      this.#waiting.get(answer.answer)?.(answer);
      this.#waiting.delete(answer.answer);
    }
    this.#reading = false;
  }
}

function wellFormed(value) {
  if (typeof value === "string") return value.toWellFormed();
  if (value === null || typeof value !== "object" || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, held]) => [name.toWellFormed(), held]),
  );
}

// The error as the script sees it: its file is main.ts, and ours is not shown.
function told(error, address) {
  const here = import.meta.url;
  const named = (text) =>
    String(text ?? "")
      .replaceAll(address ?? "\u0000", "main.ts")
      .replaceAll("file:///stripTypeScriptTypes.ts", "main.ts")
      .replaceAll(/blob:null\/[0-9a-f-]+/g, "main.ts");
  if (!(error instanceof Error)) {
    const shown = typeof error === "string" ? error : inspect(error);
    return { name: "Thrown", message: shown, stack: shown };
  }
  const message = named(error.message);
  const stack = named(error.stack)
    .split("\n")
    .filter((line) => !line.includes(here) && !line.includes("ext:"))
    .join("\n");
  const failed = { name: String(error.name), message, stack: stack || message };
  const place = /main\.ts:(\d+):(\d+)/.exec(stack) ?? /main\.ts:(\d+):(\d+)/.exec(message);
  if (place) {
    failed.line = Number(place[1]);
    failed.column = Number(place[2]);
  }
  if (error.cause !== undefined) failed.cause = named(inspect(error.cause)).slice(0, 4000);
  if (error instanceof BrainsError) failed.problem = error.problem;
  return failed;
}

const PARSED = "mainspring: parsed and not run";

// Types are stripped so that every line keeps its number. Syntax that is more than a type (an
// enum, a namespace) is transpiled, with a source map.
async function build(source) {
  const { stripTypeScriptTypes } = await import("node:module");
  let js;
  let map = null;
  try {
    js = stripTypeScriptTypes(source, { mode: "strip" });
  } catch (error) {
    if (!/strip-only mode/.test(String(error.message))) throw await located(source, error);
    try {
      js = stripTypeScriptTypes(source, { mode: "transform", sourceMap: true });
    } catch (again) {
      throw await located(source, again);
    }
    map = /sourceMappingURL=data:application\/json;base64,(\S+)/.exec(js)?.[1] ?? null;
  }
  await parse(js, "text/javascript");
  return { js, map: map === null ? null : decoder.decode(Uint8Array.from(atob(map), byteOf)) };
}

const byteOf = (sign) => sign.charCodeAt(0);

// A module is parsed completely before its first line runs, and its imports run before it:
// with a failing import, a source is checked and not run.
async function parse(text, type) {
  const stop = `throw new Error(${toJson(PARSED)})`;
  try {
    await load(`${text}\n;import "data:text/javascript,${encodeURIComponent(stop)}";`, type);
  } catch (failed) {
    if (failed.error?.message !== PARSED) throw failed;
  }
}

// The type stripper does not report the location of an error; the module loader does.
async function located(source, error) {
  try {
    await parse(source, "application/typescript");
  } catch (failed) {
    return failed;
  }
  return new Failed(error, null);
}

function toldOfBuild(failed) {
  const shown = told(failed.error ?? failed, failed.address);
  const first = shown.message
    .replace(/^(?:The module's source code could not be parsed: |SyntaxError: )+/, "")
    .split("\n")[0]
    .replace(/ at main\.ts:\d+:\d+$/, "");
  return { ...shown, name: "SyntaxError", message: first, stack: shown.message };
}

const NOT_HERE = {
  Deno: [
    "Command", "ChildProcess", "Process", "run", "spawn", "spawnAndWait", "spawnAndWaitSync", "kill",
    "dlopen", "UnsafeCallback", "UnsafePointer", "UnsafePointerView", "UnsafeFnPointer",
    "connect", "connectTls", "startTls", "listen", "listenTls", "listenDatagram", "serve",
    "serveHttp", "upgradeWebSocket", "resolveDns", "createHttpClient", "HttpClient",
    "open", "openSync", "create", "createSync", "watchFs", "openKv", "test", "bench", "lint",
  ],
  globalThis: [
    "WebSocket", "WebSocketStream", "EventSource", "Worker", "SharedWorker", "BroadcastChannel",
    "alert", "confirm", "prompt",
  ],
};

function notHere(name) {
  const refuse = function () {
    throw new Error(
      `${name} is not there in a script. A script reaches the world through brains, ` +
        "for example brains.http_fetch({ url }), or with fetch(url).",
    );
  };
  return refuse;
}

// For a clear error message only. The actual isolation is outside this process.
function tidy() {
  setLazily(globalThis, "Deno", (made) => {
    for (const name of NOT_HERE.Deno) {
      if (name in made) setOn(made, name, notHere(`Deno.${name}`));
    }
    setOn(made, "stdin", undefined);
    setOn(made, "args", Object.freeze([]));
    setOn(made, "mainModule", "main.ts");
    setOn(made, "exit", (code = 0) => ending.exit(code));
    environment.install(made);
    return made;
  });
  for (const name of NOT_HERE.globalThis) {
    setLazily(globalThis, name, () => notHere(name));
  }
  for (const name of ["localStorage", "sessionStorage", "caches"]) {
    Reflect.defineProperty(globalThis, name, {
      configurable: true,
      get() {
        throw new Error(`${name} is not there in a script. Use kv.get and kv.set.`);
      },
    });
  }
}

// The two variables that a script may read; the process itself has neither of them.
class Environment {
  #values = new Map();

  begin(given) {
    for (const name of ["BRAINS_MCP_URL", "BRAINS_RUN_TOKEN"]) {
      if (given?.[name] !== undefined) this.#values.set(name, String(given[name]));
    }
  }

  get door() {
    return this.#values.get("BRAINS_MCP_URL");
  }

  install(deno) {
    const refuse = () => {
      throw new Error("A script cannot change its environment.");
    };
    setOn(deno, "env", Object.freeze({
      get: (name) => this.#values.get(String(name)),
      has: (name) => this.#values.has(String(name)),
      toObject: () => Object.fromEntries(this.#values),
      set: refuse,
      delete: refuse,
    }));
  }
}

function installFetch(host, environment) {
  setOn(globalThis, "fetch", async function fetch(wanted, init) {
    const request = new Request(wanted, init);
    request.signal.throwIfAborted();
    const { door } = environment;
    if (door === undefined || request.url !== new URL(door).href) {
      return responseOf(await call("http_fetch", await requestOf(request, wanted, init)));
    }
    const body = request.body === null ? null : await request.text();
    const answer = await host.ask((number) => ({
      mcp: number, method: request.method, headers: Object.fromEntries(request.headers), body,
    }));
    if (answer.problem) throw new BrainsError(answer.problem);
    return madeResponse(answer.http.body, answer.http);
  });
}

// A fetch() request as arguments of http_fetch. Nothing is awaited where the body is available:
// a script that is resumed has to make its calls in the same order.
async function requestOf(request, wanted, init) {
  if (request.redirect !== "follow") {
    throw new TypeError(`fetch() in a script follows redirects; redirect: "${request.redirect}" is not supported.`);
  }
  const headers = Object.fromEntries(request.headers);
  const given = {
    // As written: a Request has encoded the braces of a secret.
    url: typeof wanted === "string" ? wanted.trim() : request.url,
    method: request.method,
    headers,
    allow_error_status: true,
  };
  if (request.body !== null) {
    given.text = textAtHand(init?.body) ?? textOf(await request.arrayBuffer());
    const boundary = /^multipart\/form-data; *boundary=(.+)$/.exec(headers["content-type"] ?? "")?.[1];
    if (boundary !== undefined) {
      // Deno's boundary is random, and so would differ in every attempt.
      const own = `----mainspring-${chance.hex(16)}`;
      given.text = given.text.replaceAll(boundary, own);
      headers["content-type"] = `multipart/form-data; boundary=${own}`;
    }
  }
  return given;
}

function textAtHand(body) {
  if (typeof body === "string") return body;
  if (body instanceof URLSearchParams) return String(body);
  if (body instanceof ArrayBuffer || ArrayBuffer.isView(body)) return textOf(body);
  return undefined;
}

function textOf(bytes) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new TypeError("fetch() in a script sends text: this body is not UTF-8.");
  }
}

// A placeholder for a result that is not available yet, such as a draft, is accepted, not done.
function responseOf(answer) {
  if (isResponse(answer)) return madeResponse(answer.text, answer);
  const headers = { "content-type": "application/json" };
  return madeResponse(toJson(answer), { status: 202, headers, url: "" });
}

function madeResponse(text, { status, headers, url = "" }) {
  const empty = status === 204 || status === 205 || status === 304;
  const response = new Response(empty ? null : text, { status, headers });
  Object.defineProperty(response, "url", { value: url, configurable: true });
  return response;
}

function installSdk(sdk) {
  for (const name of ["brains", "kv", "event", "whoami", "untrusted", "recentFailures", "BrainsError"]) {
    setOn(globalThis, name, sdk[name]);
  }
  // Where a script that imports the SDK finds it.
  setOn(globalThis, Symbol.for("mainspring.sdk"), Object.freeze({ ...sdk, default: sdk.brains }));
}

// The end of the script, reported once; pending work does not matter any more.
class Ending {
  #host;
  #told = false;

  constructor(host) {
    this.#host = host;
  }

  done(value) {
    this.#end(() => ({ done: value === undefined ? null : value }), 0);
  }

  failed(error, address) {
    let shown;
    try {
      shown = told(error, address);
    } catch {
      const message = "The script threw something that cannot be shown.";
      shown = { name: "Error", message, stack: message };
    }
    this.#end(() => ({ failed: shown }), 1);
  }

  exit(code) {
    if (code === 0) this.done(null);
    else this.failed(new Error(`The script ended itself with Deno.exit(${code}).`));
  }

  #end(message, code) {
    if (this.#told) return;
    this.#told = true;
    try {
      this.#host.tell(message());
    } catch (error) {
      // Its return value is not JSON: circular, or a BigInt.
      this.#host.tell({ failed: told(new TypeError(`The answer is no JSON: ${error.message}`)) });
      code = 1;
    }
    exit(code);
  }
}

function watchLooseEnds(ending) {
  addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    ending.failed(event.reason);
  });
  addEventListener("error", (event) => {
    event.preventDefault();
    ending.failed(event.error ?? new Error(event.message));
  });
  addEventListener("beforeunload", () => {
    ending.failed(new Error("The script waits for something that will never come."));
  });
}

function entryOf(module) {
  for (const name of ["default", "main", "run"]) {
    if (typeof module[name] === "function") return module[name];
  }
  return () => module.default;
}

const clock = new Clock();
const chance = new Chance();
const host = new Host(clock);
const environment = new Environment();
const ending = new Ending(host);

async function call(capability, given) {
  const answer = await host.ask((number) => ({ call: number, capability, arguments: given }));
  if (answer.problem) throw new BrainsError(answer.problem);
  return answer.value;
}

// Everything that does not depend on the script.
function prepare() {
  tidy();
  installFetch(host, environment);
  installClock(clock);
  installChance(chance);
}

// Lazily created parts are used once here, before a script waits for them. Timers and requests
// are not: they take longer than all the rest, and few scripts need them.
async function warmUp() {
  const again = new Host(clock);
  chance.begin("00");
  const { brains, whoami, untrusted } = buildSdk({ names: ["a.b"] }, chance, async () => null);
  await brains.a.b({});
  fromJson(toJson([whoami(), untrusted("x"), again.constructor.name]));
  decoder.decode(encoder.encode("x"));
  const { module } = await load("export default () => 1");
  entryOf(module)();
  new Date().toString();
}

async function run(frame) {
  // Fetched while the rest is created; its first line runs when this function awaits.
  const loading = load(frame.js);
  clock.begin(Number(frame.began));
  chance.begin(frame.seed);
  environment.begin(frame.env);
  const sdk = buildSdk(frame, chance, call);
  installSdk(sdk);
  watchLooseEnds(ending);
  let address = null;
  try {
    const loaded = await loading;
    address = loaded.address;
    const value = await entryOf(loaded.module)(sdk);
    await host.settled();
    ending.done(value);
  } catch (error) {
    if (error instanceof Failed) ending.failed(error.error, error.address);
    else ending.failed(error, address);
  }
}

async function answerBuild(frame) {
  try {
    host.tell({ built: await build(frame.source) });
  } catch (failed) {
    host.tell({ failed: toldOfBuild(failed) });
  }
  exit(0);
}

if (Deno.args[0] === "warm") await warmUp();
prepare();
writeAll(encoder.encode("READY\n"));
const first = fromJson(decoder.decode(readExactly(lengthOf(readExactly(4)))));
host.begin(first.nonce);
// Not awaited: what the script waits for must not keep this module from finishing.
if (first.kind === "build") answerBuild(first);
else run(first);
