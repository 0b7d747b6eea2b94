/**
 * Numbers runs of bytes, equal runs the same: a model is names and small messages met again and again, and comparing
 * bytes costs less than decoding them.
 */
export class ByteTable {
  /** By slot: number of an entry and 1, or 0 where the slot is free. A power of 2 long, at most half full. */
  #slots = new Int32Array(1 << 10);
  #hashes = new Int32Array(1 << 9);
  /** Entry n is the bytes from `starts[n]` to `starts[n + 1]`. */
  #starts = new Int32Array((1 << 9) + 1);
  #bytes = new Uint8Array(1 << 14);
  #count = 0;

  /** How many different runs were met. */
  get size(): number {
    return this.#count;
  }

  /** The number of the `length` bytes from `start`; the next free one where they were not met before. */
  numberOf(window: Uint8Array, start: number, length: number): number {
    let hash = length;
    for (let index = start; index < start + length; index += 1) {
      hash = Math.imul(hash ^ (window[index] ?? 0), 0x01000193);
    }
    hash ^= hash >>> 15;
    const slots = this.#slots;
    const mask = slots.length - 1;
    let slot = hash & mask;
    for (;;) {
      const number = (slots[slot] ?? 0) - 1;
      if (number < 0) break;
      if (this.#hashes[number] === hash && this.#isEntry(number, window, start, length)) return number;
      slot = (slot + 1) & mask;
    }
    return this.#add(window, start, length, hash, slot);
  }

  #isEntry(number: number, window: Uint8Array, start: number, length: number): boolean {
    const bytes = this.#bytes;
    const from = this.#starts[number] ?? 0;
    if ((this.#starts[number + 1] ?? 0) - from !== length) return false;
    for (let index = 0; index < length; index += 1) {
      if (bytes[from + index] !== window[start + index]) return false;
    }
    return true;
  }

  #add(window: Uint8Array, start: number, length: number, hash: number, slot: number): number {
    const number = this.#count;
    const from = this.#starts[number] ?? 0;
    if (from + length > this.#bytes.length) {
      const longer = new Uint8Array(2 * Math.max(this.#bytes.length, from + length));
      longer.set(this.#bytes);
      this.#bytes = longer;
    }
    const bytes = this.#bytes;
    for (let index = 0; index < length; index += 1) bytes[from + index] = window[start + index] ?? 0;
    this.#starts[number + 1] = from + length;
    this.#hashes[number] = hash;
    this.#slots[slot] = number + 1;
    this.#count += 1;
    if (this.#count === this.#hashes.length) this.#grow();
    return number;
  }

  #grow(): void {
    const capacity = 2 * this.#hashes.length;
    const hashes = new Int32Array(capacity);
    hashes.set(this.#hashes);
    this.#hashes = hashes;
    const starts = new Int32Array(capacity + 1);
    starts.set(this.#starts);
    this.#starts = starts;
    const slots = new Int32Array(2 * capacity);
    const mask = slots.length - 1;
    for (let number = 0; number < this.#count; number += 1) {
      let slot = (hashes[number] ?? 0) & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = number + 1;
    }
    this.#slots = slots;
  }
}
