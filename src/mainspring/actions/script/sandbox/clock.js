// Recorded time and randomness. A script that is resumed makes the same calls again: its clock
// stops between two results of the host, and its random numbers come from a seed. Reading the
// clock advances it slightly, so that a loop which waits for time ends.

const LOOKS_PER_MS = 1000;

class Clock {
  #now = 0;
  #looks = 0;

  now() {
    if (++this.#looks >= LOOKS_PER_MS) {
      this.#looks = 0;
      this.#now += 1;
    }
    return this.#now;
  }

  begin(moment) {
    this.#now = moment;
    this.#looks = 0;
  }

  // Never backwards: a result may have been recorded before a timer advanced the clock.
  setAtLeast(moment) {
    if (Number.isFinite(moment) && moment > this.#now) {
      this.#now = Math.floor(moment);
      this.#looks = 0;
    }
  }

  get standing() {
    return this.#now;
  }
}

// ChaCha20: secure enough for keys that a script generates, and deterministic for a seed.
class Chance {
  #state = new Uint32Array(16);
  #block = new Uint32Array(16);
  #bytes = new Uint8Array(this.#block.buffer);
  #used = 64;

  begin(seed) {
    this.#state.fill(0);
    this.#state.set([0x61707865, 0x3320646e, 0x79622d32, 0x6b206574]);
    this.#used = 64;
    const digits = String(seed).padEnd(64, "0").slice(0, 64);
    for (let word = 0; word < 8; word++) {
      this.#state[4 + word] = parseInt(digits.slice(word * 8, word * 8 + 8), 16) || 0;
    }
  }

  #refill() {
    const x = this.#block;
    x.set(this.#state);
    const turn = (a, b, c, d) => {
      x[a] += x[b];
      x[d] ^= x[a];
      x[d] = (x[d] << 16) | (x[d] >>> 16);
      x[c] += x[d];
      x[b] ^= x[c];
      x[b] = (x[b] << 12) | (x[b] >>> 20);
      x[a] += x[b];
      x[d] ^= x[a];
      x[d] = (x[d] << 8) | (x[d] >>> 24);
      x[c] += x[d];
      x[b] ^= x[c];
      x[b] = (x[b] << 7) | (x[b] >>> 25);
    };
    for (let round = 0; round < 10; round++) {
      turn(0, 4, 8, 12);
      turn(1, 5, 9, 13);
      turn(2, 6, 10, 14);
      turn(3, 7, 11, 15);
      turn(0, 5, 10, 15);
      turn(1, 6, 11, 12);
      turn(2, 7, 8, 13);
      turn(3, 4, 9, 14);
    }
    for (let word = 0; word < 16; word++) x[word] += this.#state[word];
    if (++this.#state[12] === 0) this.#state[13] += 1;
    this.#used = 0;
  }

  fill(bytes) {
    let place = 0;
    while (place < bytes.length) {
      if (this.#used === 64) this.#refill();
      const piece = this.#bytes.subarray(this.#used, this.#used + bytes.length - place);
      bytes.set(piece, place);
      this.#used += piece.length;
      place += piece.length;
    }
    return bytes;
  }

  number() {
    if (this.#used > 56) this.#refill();
    const high = this.#take() >>> 5;
    const low = this.#take() >>> 6;
    return (high * 67108864 + low) / 9007199254740992;
  }

  #take() {
    const b = this.#bytes;
    const at = this.#used;
    this.#used += 4;
    return (b[at] | (b[at + 1] << 8) | (b[at + 2] << 16) | (b[at + 3] << 24)) >>> 0;
  }

  hex(count) {
    return [...this.fill(new Uint8Array(count))]
      .map((byte) => byte.toString(16).padStart(2, "0")).join("");
  }

  uuid() {
    const bytes = this.fill(new Uint8Array(16));
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    const text = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    return [8, 12, 16, 20].reduceRight((made, at) => made.slice(0, at) + "-" + made.slice(at), text);
  }
}

function setOn(owner, name, value) {
  Reflect.defineProperty(owner, name, {
    value, writable: true, configurable: true, enumerable: false,
  });
}

// Much of Deno is created lazily, which takes milliseconds; it is wrapped then, not before.
function setLazily(owner, name, wrap) {
  const found = Object.getOwnPropertyDescriptor(owner, name);
  if (found === undefined) return;
  Reflect.defineProperty(owner, name, {
    configurable: true,
    enumerable: found.enumerable,
    get() {
      const made = wrap(found.get ? found.get.call(owner) : found.value);
      setOn(owner, name, made);
      return made;
    },
    set(value) {
      setOn(owner, name, value);
    },
  });
}

function installClock(clock) {
  const RealDate = Date;
  setOn(RealDate, "now", function now() {
    return clock.now();
  });
  const StandingDate = new Proxy(RealDate, {
    construct(target, given, made) {
      return Reflect.construct(target, given.length === 0 ? [clock.now()] : given, made);
    },
    apply() {
      return new RealDate(clock.now()).toString();
    },
  });
  setOn(RealDate.prototype, "constructor", StandingDate);
  setOn(globalThis, "Date", StandingDate);
  installFormats(clock);
  installTemporal(clock);
  installTimers(clock);
}

// Formatting without a date means now, and so does undefined.
function installFormats(clock) {
  setLazily(Intl, "DateTimeFormat", (made) => {
    const formats = made.prototype;
    const { get } = Object.getOwnPropertyDescriptor(formats, "format");
    Reflect.defineProperty(formats, "format", {
      configurable: true,
      get() {
        const format = get.call(this);
        return (moment) => format(moment === undefined ? clock.now() : moment);
      },
    });
    const parts = formats.formatToParts;
    setOn(formats, "formatToParts", function formatToParts(moment) {
      return parts.call(this, moment === undefined ? clock.now() : moment);
    });
    return made;
  });
}

function installTemporal(clock) {
  setLazily(globalThis, "Temporal", (made) => {
    const { Instant, Now } = made;
    const instant = () => Instant.fromEpochMilliseconds(clock.now());
    const zoned = (zone) => instant().toZonedDateTimeISO(zone ?? Now.timeZoneId());
    setOn(Now, "instant", () => instant());
    setOn(Now, "zonedDateTimeISO", (zone) => zoned(zone));
    setOn(Now, "plainDateTimeISO", (zone) => zoned(zone).toPlainDateTime());
    setOn(Now, "plainDateISO", (zone) => zoned(zone).toPlainDate());
    setOn(Now, "plainTimeISO", (zone) => zoned(zone).toPlainTime());
    return made;
  });
}

// A timer that fires advances the clock to its due time.
function movingTimer(clock, set, repeats) {
  return function (what, delay = 0, ...given) {
    if (typeof what !== "function") return set(what, delay, ...given);
    const wait = Math.max(0, Number(delay) || 0);
    let due = clock.standing + wait;
    return set(
      function (...words) {
        clock.setAtLeast(due);
        if (repeats) due = clock.standing + wait;
        return what.apply(this, words);
      },
      delay,
      ...given,
    );
  };
}

function installTimers(clock) {
  setLazily(globalThis, "setTimeout", (set) => movingTimer(clock, set, false));
  setLazily(globalThis, "setInterval", (set) => movingTimer(clock, set, true));
}

function installChance(chance) {
  const kinds = [
    Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array,
    BigInt64Array, BigUint64Array,
  ];
  setOn(Math, "random", function random() {
    return chance.number();
  });
  setOn(Crypto.prototype, "randomUUID", function randomUUID() {
    return chance.uuid();
  });
  setOn(Crypto.prototype, "getRandomValues", function getRandomValues(array) {
    if (!kinds.some((kind) => array instanceof kind)) {
      throw new DOMException("An array of integers is wanted.", "TypeMismatchError");
    }
    if (array.byteLength > 65536) {
      throw new DOMException("At most 65,536 bytes at once.", "QuotaExceededError");
    }
    chance.fill(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
    return array;
  });
}
