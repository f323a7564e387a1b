//// JSON is another :: alone
const seen = [];
JSON.stringify = (value) => { seen.push(value); return "{}"; };
JSON.parse = (value) => { seen.push(value); return {}; };
Object.prototype.toJSON = function () { seen.push(this); return this; };
await brains.x({ a: 1 }).catch(() => {});
delete Object.prototype.toJSON;
return seen.map(String);
//// the encoder is another :: alone
const seen = [];
const encode = TextEncoder.prototype.encode;
TextEncoder.prototype.encode = function (value) { seen.push(value); return encode.call(this, value); };
await brains.x({ a: 1 });
return seen;
//// pieces of bytes are others :: alone
const seen = [];
const { subarray } = Uint8Array.prototype;
Uint8Array.prototype.subarray = function (...given) { seen.push(text(this)); return subarray.apply(this, given); };
await brains.x({ a: 1 });
return seen;
//// maps and promises are others :: alone
const seen = [];
for (const [owner, name] of [[Map.prototype, "set"], [Map.prototype, "get"], [Promise.prototype, "then"]]) {
  const real = owner[name];
  owner[name] = function (...given) { seen.push(name, ...given.map(String)); return real.apply(this, given); };
}
await brains.x({ a: 1 });
return seen;
//// private fields are looked for :: alone
const seen = [];
const real = Reflect.defineProperty;
for (const value of [brains, kv, event, whoami, untrusted, recentFailures, BrainsError, fetch, Deno.env, Date]) {
  seen.push(String(value), ...Reflect.ownKeys(value).map(String));
}
seen.push(text(globalThis[Symbol.for("mainspring.sdk")]), text(globalThis[Symbol.for("mainspring.host")]));
return seen;
//// traces of the stack :: alone
const seen = [];
Error.stackTraceLimit = Infinity;
Error.prepareStackTrace = (error, frames) => {
  for (const frame of frames) {
    seen.push(frame.getFileName(), String(frame.getThis?.()), String(frame.getFunction?.()), String(frame.getEvalOrigin?.()));
  }
  return "";
};
void new Error("x").stack;
try { await brains.x(1); } catch (error) { void error.stack; }
try { await fetch("http://127.0.0.1:__TCP__/"); } catch (error) { void error.stack; }
return seen;
//// arguments with getters :: alone
const seen = [];
const trap = new Proxy({}, {
  get: (_, name) => { seen.push(String(name)); return name === "toJSON" ? () => ({ call: 1, capability: "admin" }) : undefined; },
  ownKeys: () => ["call", "capability", "done"],
  getOwnPropertyDescriptor: () => ({ value: 1, enumerable: true, configurable: true }),
});
await brains.x(trap).catch(() => {});
await brains.x({ get a() { seen.push(new Error().stack); return 1; } });
return seen;
//// things that wait like promises :: alone
const seen = [];
const real = Object.getOwnPropertyDescriptor(Object.prototype, "then");
Object.prototype.then = function (resolve) { seen.push(text(Object.keys(this))); delete Object.prototype.then; resolve(this); };
await brains.x({ a: 1 });
delete Object.prototype.then;
return seen;
//// setters on every object :: alone
const seen = [];
for (const name of ["answer", "value", "nonce", "js", "env", "problem", "kind", "done", "BRAINS_RUN_TOKEN"]) {
  Object.defineProperty(Object.prototype, name, {
    configurable: true, set(value) { seen.push(name, text(value)); }, get() { return undefined; },
  });
}
await brains.x({ a: 1 }).catch(() => {});
for (const name of ["answer", "value", "nonce", "js", "env", "problem", "kind", "done", "BRAINS_RUN_TOKEN"]) delete Object.prototype[name];
return seen;
//// the input is read before the bootstrap does :: alone
const fs = await import("node:fs");
const asked = brains.x({ a: 1 });
const bytes = Buffer.alloc(65536);
const count = fs.readSync(0, bytes);
console.log(text(bytes.subarray(0, count)));
// Nobody will ever answer what it has asked: it would wait until its time is up.
Deno.exit(0);
//// it goes on after its return :: alone
setTimeout(() => console.log("late"), 0);
setInterval(() => { for (const n of [1, 2, 3]) console.log("late", n); }, 1);
queueMicrotask(() => console.log("__LATE__"));
addEventListener("unload", () => { while (true); });
return 1;
//// rejections that nobody handles :: alone
addEventListener("unhandledrejection", (event) => { event.preventDefault(); event.stopImmediatePropagation(); });
Promise.reject(new Error("x"));
await new Promise((done) => setTimeout(done, 20));
return 1;
//// it leaves by the door of node :: alone
(await import("node:process")).default.reallyExit?.(0);
(await import("node:process")).default.exit(0);
//// it leaves by the door of Deno :: alone
Deno.exit(0);
//// code from texts :: alone
return [eval("1 + 1"), new Function("return typeof Deno")(), await (async () => {}).constructor("return 3")()];
