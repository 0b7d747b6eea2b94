/** The little of a browser's worker that the client touches; the whole DOM library would let more in. */
declare class Worker {
  constructor(address: string);
  postMessage(message: unknown): void;
  terminate(): void;
}
