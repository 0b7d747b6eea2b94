/**
 * What was parsed of a text, kept for its next state: a keystroke changes one line, and the calls on all others are
 * what they were, some of them further on in the text. A result never depends on what is kept, only the time it takes
 * does.
 */

import { moveCall, moveIssue, moveName } from './moveSpans.ts';
import { parseCall } from './parseCall.ts';
import { parseNames } from './parseNames.ts';
import type { LayerCall, Name } from './syntax.ts';
import type { Parsed } from './tokenCursor.ts';

export class ReadingCache {
  private text = '';
  private readonly names = new KeptParses<readonly Name[]>(parseNames, (names, by) =>
    names.map((name) => moveName(name, by)),
  );
  private readonly calls = new KeptParses<LayerCall>(parseCall, moveCall);

  /** What follows is asked of `text`. */
  turnTo(text: string): void {
    const change = changeBetween(this.text, text);
    this.text = text;
    this.names.turnTo(text, change);
    this.calls.turnTo(text, change);
  }

  /** What `parseNames` gives for a part of the text. */
  parseNames(start: number, end: number): Parsed<readonly Name[]> {
    return this.names.parse(start, end);
  }

  /** What `parseCall` gives for a part of the text. */
  parseCall(start: number, end: number): Parsed<LayerCall> {
    return this.calls.parse(start, end);
  }
}

/** One text and the next: both begin with `head` characters that are the same, and end with the same from `tail` on. */
interface Change {
  readonly head: number;
  /** Offset in the later text. */
  readonly tail: number;
  /** By how much what follows has moved. */
  readonly by: number;
}

function changeBetween(before: string, after: string): Change {
  const most = Math.min(before.length, after.length);
  let head = 0;
  while (head < most && before.charCodeAt(head) === after.charCodeAt(head)) head += 1;
  let same = 0;
  while (
    same < most - head &&
    before.charCodeAt(before.length - 1 - same) === after.charCodeAt(after.length - 1 - same)
  ) {
    same += 1;
  }
  return { head, tail: after.length - same, by: after.length - before.length };
}

interface KeptParse<Result> {
  readonly end: number;
  readonly parsed: Parsed<Result>;
}

/** Results of one parser by where they begin, of the present text and the one before. */
class KeptParses<Result> {
  private text = '';
  private change: Change = { head: 0, tail: 0, by: 0 };
  private before = new Map<number, KeptParse<Result>>();
  private present = new Map<number, KeptParse<Result>>();

  constructor(
    private readonly parser: (text: string, start: number, end: number) => Parsed<Result>,
    private readonly move: (result: Result, by: number) => Result,
  ) {}

  turnTo(text: string, change: Change): void {
    this.text = text;
    this.change = change;
    this.before = this.present;
    this.present = new Map();
  }

  parse(start: number, end: number): Parsed<Result> {
    const parsed = this.kept(start, end) ?? this.parser(this.text, start, end);
    this.present.set(start, { end, parsed });
    return parsed;
  }

  /** A parser looks at one character behind the part it is given at most. */
  private kept(start: number, end: number): Parsed<Result> | undefined {
    const { head, tail, by } = this.change;
    if (end < head) {
      const known = this.before.get(start);
      return known?.end === end ? known.parsed : undefined;
    }
    if (start < tail) return undefined;
    const known = this.before.get(start - by);
    if (known?.end !== end - by) return undefined;
    if (by === 0) return known.parsed;
    const { result, issues } = known.parsed;
    return {
      result: result === undefined ? undefined : this.move(result, by),
      issues: issues.length === 0 ? issues : issues.map((issue) => moveIssue(issue, by)),
    };
  }
}
