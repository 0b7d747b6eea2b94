/** A layer spec while it is read: its text, what is kept of earlier states, and what is wrong. */

import type { Issue, TextSpan } from '../../model/issue.ts';
import type { IssueCode } from '../../model/issueCodes.ts';
import { didYouMean } from '../../model/nearestName.ts';
import type { ReadingCache } from './readingCache.ts';
import type { Name } from './syntax.ts';
import type { Parsed } from './tokenCursor.ts';
import type { YamlEntry, YamlNode, YamlScalar } from './yamlTree.ts';

export class SpecReading {
  readonly issues: Issue[] = [];

  constructor(
    readonly text: string,
    readonly memory: ReadingCache,
  ) {}

  report(code: IssueCode, message: string, span: TextSpan): undefined {
    this.issues.push({ code, severity: 'error', message, span });
  }

  /** Entries by key, without those that are not `known` in `what` they stand in. */
  knownEntries(
    entries: readonly YamlEntry[],
    known: readonly string[],
    what: string,
  ): ReadonlyMap<string, YamlEntry> {
    const found = new Map<string, YamlEntry>();
    for (const entry of entries) {
      const { text, span } = entry.key;
      if (known.includes(text)) found.set(text, entry);
      else {
        this.report('spec/structure', `\`${text}\` is not a key of ${what}${didYouMean(text, known)}`, span);
      }
    }
    return found;
  }

  /** The entries below a key, `what` in messages; none where it holds nothing. */
  mappingOf(entry: YamlEntry | undefined, what: string): readonly YamlEntry[] {
    const value = entry?.value;
    if (value === undefined || value.kind === 'unreadable' || isNothing(value)) return [];
    if (value.kind === 'map') return value.entries;
    this.report('spec/structure', `\`${what}\` is a mapping of names to values`, value.span);
    return [];
  }

  /** One scalar or a list of them; `form` says in a message what it should be. */
  scalarsOf(entry: YamlEntry | undefined, form: string): readonly YamlScalar[] {
    if (entry?.value === undefined) return [];
    const nodes =
      entry.value.kind === 'list'
        ? entry.value.items
        : [entry.value].map((value) => ({ value, span: value.span }));
    return nodes.flatMap(({ value, span }) => {
      if (value?.kind === 'scalar' && !isNothing(value)) return [value];
      if (value?.kind !== 'unreadable') this.report('spec/structure', form, span);
      return [];
    });
  }

  /** Applies a parser to the text of a scalar; the text as written, so that offsets hold. */
  parsed<Result>(
    node: YamlNode,
    parse: (text: string, start: number, end: number) => Parsed<Result>,
    form: string,
    code: IssueCode,
  ): Result | undefined {
    if (node.kind !== 'scalar') {
      if (node.kind !== 'unreadable') this.report(code, form, node.span);
      return undefined;
    }
    const { result, issues } = parse(this.text, node.content.start, node.content.end);
    if (!node.broken) this.issues.push(...issues.map((issue) => ({ ...issue, code })));
    return result;
  }

  /** Whether a name can stand in expressions, which is said where it cannot. */
  isIdentifier(name: Name, what: string): boolean {
    if (/^[\p{L}_][\p{L}\p{N}_]*$/u.test(name.text)) return true;
    const message = `\`${name.text}\` is not a name of ${what}: use letters, digits and \`_\``;
    this.report('spec/structure', message, name.span);
    return false;
  }
}

export const nameOf = (key: YamlScalar): Name => ({ text: key.text, span: key.content });

/** From a key to the end of its value. */
export const spanOf = ({ key, value }: YamlEntry): TextSpan => ({
  start: key.span.start,
  end: value?.span.end ?? key.span.end,
});

/** Nothing, `~` or `null`. */
export const isNothing = (node: YamlNode | undefined): boolean =>
  node === undefined || (node.kind === 'scalar' && !node.quoted && /^(?:~|null|)$/.test(node.text));
