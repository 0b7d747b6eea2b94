/** A turn of Node's event loop: a message is read in one turn and handed on in the next, so it takes two. */
export const nextTurn = (): Promise<void> =>
  new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
