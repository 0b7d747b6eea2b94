/**
 * When a text that is typed into rests. Findings cost a step again for their advice, which takes longer than its hints:
 * between two keys they would keep hints waiting that the editor asks for a moment later.
 */

/** Milliseconds: longer than an editor waits before it asks for hints, shorter than a person notices. */
export const restOfTexts = 150;

export interface RestingTexts {
  readonly typed: (uri: string) => void;
  /** Resolves when nobody has typed into the text for a while, at once where nobody has. */
  readonly rested: (uri: string) => Promise<void>;
  readonly forget: (uri: string) => void;
}

/** `rest` in milliseconds; without it nothing waits. */
export function restingTexts(rest: number | undefined): RestingTexts {
  const until = new Map<string, number>();
  return {
    typed: (uri) => {
      if (rest !== undefined) until.set(uri, performance.now() + rest);
    },
    rested: async (uri) => {
      const left = (until.get(uri) ?? Number.NEGATIVE_INFINITY) - performance.now();
      if (left > 0) await new Promise((resolve) => setTimeout(resolve, left));
    },
    forget: (uri) => {
      until.delete(uri);
    },
  };
}
