/**
 * Which documents keep their views: those used last. An editor with two hundred tabs shows a few; the others are costed
 * again when they come to the front.
 */

export interface RecentDocuments {
  /** Puts a document first and gives those that are to be let go of; it is never among them. */
  use(uri: string, operators: number): readonly string[];
  forget(uri: string): void;
}

/**
 * `most` is the number of operators whose views are kept, at some 4 kB each; `fewest` documents are kept however large
 * they are, because an editor shows several side by side.
 */
export function recentDocuments(most = 20_000, fewest = 4): RecentDocuments {
  /** Weights by address, the one used last at the end. */
  const weights = new Map<string, number>();
  return {
    use: (uri, operators) => {
      weights.delete(uri);
      weights.set(uri, operators + weightOfText);
      const dropped: string[] = [];
      let sum = 0;
      let place = 0;
      for (const [each, weight] of [...weights].reverse()) {
        sum += weight;
        place += 1;
        if (place > fewest && sum > most) dropped.push(each);
      }
      for (const each of dropped) weights.delete(each);
      return dropped;
    },
    forget: (uri) => {
      weights.delete(uri);
    },
  };
}

/** What the caches of even a short text take, in operators. */
const weightOfText = 300;
