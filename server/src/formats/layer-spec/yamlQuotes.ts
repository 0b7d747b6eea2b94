/** Quoted scalars of YAML: where they end, and what they say. */

import { insertion } from '../../model/issue.ts';
import type { YamlProblem, YamlScalar } from './yamlTree.ts';

/** The offset after the closing quote of the scalar that opens at `start`; `undefined` where it is not before `limit`. */
export function quotedEnd(text: string, start: number, limit: number): number | undefined {
  const quote = text[start];
  for (let at = start + 1; at < limit; at += 1) {
    const sign = text[at];
    if (quote === '"' && sign === '\\') at += 1;
    else if (sign === quote) {
      if (quote === "'" && text[at + 1] === "'" && at + 1 < limit) at += 1;
      else return at + 1;
    }
  }
  return undefined;
}

/** The scalar from its opening quote at `start` to `end`, after the closing one. */
export const quotedScalar = (text: string, start: number, end: number): YamlScalar => ({
  kind: 'scalar',
  quoted: true,
  span: { start, end },
  content: { start: start + 1, end: end - 1 },
  text: quotedText(text.slice(start, end)),
});

/** A scalar whose quote is never closed, which is said: all from `start` to the end of its line. */
export function unclosedScalar(
  text: string,
  start: number,
  end: number,
  report: (problem: YamlProblem) => void,
): YamlScalar {
  const span = { start, end };
  const quote = text[start] ?? '';
  report({ message: `\`${quote}\` is not closed on this line`, span, repair: insertion(quote, end) });
  const content = { start: Math.min(start + 1, end), end };
  return { kind: 'scalar', quoted: true, span, content, text: text.slice(content.start, end), broken: true };
}

/** A scalar that ends with a quote and does not begin with one, which is said. */
export function unopenedScalar(
  text: string,
  start: number,
  end: number,
  report: (problem: YamlProblem) => void,
): YamlScalar {
  const span = { start, end };
  const quote = text[end - 1] ?? '';
  const written = text.slice(start, end);
  report({ message: `\`${quote}\` is missing before \`${written}\``, span, repair: insertion(quote, start) });
  const content = { start, end: end - 1 };
  return { kind: 'scalar', quoted: true, span, content, text: text.slice(start, end - 1), broken: true };
}

/** What a scalar says, given with its quotes: escapes resolved, line breaks folded (YAML 1.2, 7.3.1 and 7.3.2). */
function quotedText(written: string): string {
  const inside = written.slice(1, -1).replace(/[ \t]*\r?\n[ \t]*((?:\r?\n[ \t]*)*)/g, (_, breaks: string) => {
    const blankLines = breaks.split('\n').length - 1;
    return blankLines === 0 ? ' ' : '\n'.repeat(blankLines);
  });
  if (written.startsWith("'")) return inside.replaceAll("''", "'");
  return inside.replace(/\\(x[\dA-Fa-f]{2}|u[\dA-Fa-f]{4}|U[\dA-Fa-f]{8}|[\s\S])/g, (_, escaped: string) => {
    if (escaped.length > 1) {
      const code = Number.parseInt(escaped.slice(1), 16);
      return code <= 0x10ffff ? String.fromCodePoint(code) : '\uFFFD';
    }
    return escapes[escaped] ?? escaped;
  });
}

const escapes: Readonly<Record<string, string>> = {
  '0': '\0',
  a: '\x07',
  b: '\b',
  t: '\t',
  n: '\n',
  v: '\v',
  f: '\f',
  r: '\r',
  e: '\x1b',
  N: '\x85',
  _: '\xa0',
  L: '\u2028',
  P: '\u2029',
};
