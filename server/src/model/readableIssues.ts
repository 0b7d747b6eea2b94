/**
 * Keeps a list of issues short enough to be read: a file that is wrong in one way forty thousand times is reported in a
 * hundred lines and a count, and a name of a megabyte is shown by its ends.
 */

import { entryAt } from './at.ts';
import type { Issue } from './issue.ts';
import { tally } from './tally.ts';

/** Issues of one code and severity that are listed. */
const mostAlike = 100;

/** Longer messages have their names shortened: more does not fit on a screen. */
const longestMessage = 600;

/** What is kept of a long name: its beginning and its end. */
const keptOfName = 40;

/** The issues with long messages shortened; of each code and severity the first hundred, then how many more there are. */
export function readableIssues(issues: readonly Issue[]): readonly Issue[] {
  const counts = new Map<string, number>();
  const kept: Issue[] = [];
  /** Where the count of a kind stands, once it has more than are listed. */
  const places = new Map<string, number>();
  for (const issue of issues) {
    const key = `${issue.severity} ${issue.code}`;
    tally(counts, key);
    const count = entryAt(counts, key);
    if (count <= mostAlike) {
      kept.push(readableIssue(issue));
    } else if (count === mostAlike + 1) {
      places.set(key, kept.length);
      kept.push(issue);
    }
  }
  for (const [key, place] of places) {
    const issue = kept[place];
    const more = entryAt(counts, key) - mostAlike;
    if (issue === undefined) continue;
    kept[place] =
      more === 1
        ? readableIssue(issue)
        : {
            ...issue,
            message: `and ${more.toLocaleString('en-US')} more like these; look at the first ones`,
          };
  }
  return kept;
}

function readableIssue(issue: Issue): Issue {
  const message = readableText(issue.message);
  return message === issue.message ? issue : { ...issue, message };
}

/** The text on one line: what would end it, steer a terminal or turn the direction of writing is shown as `\\u001b`. */
export const printable = (text: string): string =>
  unprintable.test(text) ? text.replace(unprintables, escapeOf) : text;

/** The same over several lines, for a terminal: line ends and tabs stay. */
export const printableLines = (text: string): string =>
  text.replace(unprintables, (character) => (/[\n\r\t]/.test(character) ? character : escapeOf(character)));

/** One line without control characters, short enough for a screen. */
function readableText(text: string): string {
  const line = printable(text);
  if (line.length <= longestMessage) return line;
  const named = line.replace(longWord, (word) => `${word.slice(0, keptOfName)}…${word.slice(-keptOfName)}`);
  const half = longestMessage / 2;
  return named.length <= longestMessage ? named : `${named.slice(0, half)} … ${named.slice(-half)}`;
}

/** Controls, the separators that some take for line breaks, marks that turn the direction of what follows, halves of pairs. */
const pattern = '[\\p{Cc}\\u2028\\u2029\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069\\p{Cs}]';
const unprintable = new RegExp(pattern, 'u');
const unprintables = new RegExp(pattern, 'gu');
const escapeOf = (character: string): string =>
  `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`;

const longWord = /[^\s`]{100,}/g;
