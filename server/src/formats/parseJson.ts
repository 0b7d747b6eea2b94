/** JSON as it stands in files: what a text holds, or why it holds nothing. Never throws. */

export type ParsedJson = { readonly value: unknown } | { readonly problem: string };

/** A byte order mark in front is passed over. `problem` is the parser's, on one line of at most 160 characters. */
export function parseJson(text: string): ParsedJson {
  try {
    return { value: JSON.parse(text.replace(/^\uFEFF/, '')) };
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    return {
      problem: problem
        .replace(/[\s.]+$/, '')
        .replace(/\s+/g, ' ')
        .slice(0, 160),
    };
  }
}

/** What a text holds, such as a line that a process prints; `undefined` where that is no JSON. */
export function jsonOrUndefined(text: string): unknown {
  const parsed = parseJson(text);
  return 'value' in parsed ? parsed.value : undefined;
}

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
