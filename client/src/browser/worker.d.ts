/** The little of a browser that the client and the server's worker touch; the whole DOM library would let more in. */
declare class Worker {
  constructor(address: string, options?: { readonly name?: string });
  postMessage(message: unknown): void;
  terminate(): void;
  addEventListener(type: 'error', listener: () => void): void;
  addEventListener(type: 'message', listener: () => void, options: { readonly once: true }): void;
}

declare const navigator: {
  readonly locks: {
    /** Holds the lock until the promise that `held` gives is settled. */
    request(name: string, held: () => Promise<void> | void): Promise<void>;
  };
};

/** Of the worker itself. */
declare const self: { readonly name: string };
