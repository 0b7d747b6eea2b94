/** A layer spec while it is read: its text, what is kept of earlier states, and what is wrong. */

import type { Issue, Repair, TextSpan } from '../../model/issue.ts';
import type { IssueCode } from '../../model/issueCodes.ts';
import { didYouMean, likelyName } from '../../model/nearestName.ts';
import type { ReadingCache } from './readingCache.ts';
import { fitsKey } from './specKeys.ts';
import type { LayerSpec, Name } from './syntax.ts';
import type { Parsed } from './tokenCursor.ts';
import {
  dividedAtBlank,
  isNothing,
  missingColon,
  type YamlEntry,
  type YamlNode,
  type YamlProblem,
  type YamlScalar,
} from './yamlTree.ts';

/** What a text says and what is wrong with it. */
export interface ReadSpec {
  /** `undefined` only where the text is too long or not a mapping at all. */
  readonly spec: LayerSpec | undefined;
  readonly issues: readonly Issue[];
}

export interface IndentedSpec extends ReadSpec {
  /** Whether a line may be wrong only by its indent. */
  readonly isMisplaced: boolean;
}

export class SpecReading {
  readonly issues: Issue[] = [];

  constructor(
    readonly text: string,
    readonly memory: ReadingCache,
  ) {}

  report(code: IssueCode, message: string, span: TextSpan, repair?: Repair): undefined {
    const issue: Issue = { code, severity: 'error', message, span };
    this.issues.push(repair === undefined ? issue : { ...issue, repair });
  }

  reportProblem({ message, span, duplicate, repair }: YamlProblem): void {
    this.report(duplicate ? 'spec/duplicate-name' : 'spec/syntax', message, span, repair);
  }

  /**
   * Entries by key; one that is not `known` in `what` it stands in is read as the key it is nearest to, or left out.
   * A key is near only where its value fits that key.
   */
  knownEntries(
    entries: readonly YamlEntry[],
    known: readonly string[],
    what: string,
  ): ReadonlyMap<string, YamlEntry> {
    const found = new Map<string, YamlEntry>();
    const present = new Set(entries.map(({ key }) => key.text));
    for (const entry of entries) {
      const { text, span } = entry.key;
      if (known.includes(text)) found.set(text, entry);
      else {
        const fitting = known.filter((key) => fitsKey(key, entry.value));
        const meant = likelyName(text, fitting);
        if (meant !== undefined && !present.has(meant)) {
          found.set(meant, { ...entry, key: { ...entry.key, text: meant } });
        }
        const hint = didYouMean(text, fitting) || `; its keys are ${known.join(', ')}`;
        const message = `\`${text}\` is not a key of ${what}${hint}`;
        this.report('spec/structure', message, span, meant === undefined ? undefined : change(span, meant));
      }
    }
    return found;
  }

  /** The entries below a key, `what` in messages; none where it holds nothing. */
  mappingOf(entry: YamlEntry | undefined, what: string): readonly YamlEntry[] {
    const value = entry?.value;
    if (value === undefined || value.kind === 'unreadable' || isNothing(value)) return [];
    if (value.kind === 'map') return value.entries;
    const divided = value.kind === 'scalar' ? dividedAtBlank(this.text, value) : undefined;
    if (divided !== undefined) {
      this.reportProblem(missingColon(divided.key));
      return [divided];
    }
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

/** A misspelt word becomes the one it was read as. */
export const change = (span: TextSpan, meant: string): Repair => ({
  title: `Change to \`${meant}\``,
  span,
  text: meant,
});

export const nameOf = (key: YamlScalar): Name => ({ text: key.text, span: key.content });

/** From a key to the end of its value. */
export const spanOf = ({ key, value }: YamlEntry): TextSpan => ({
  start: key.span.start,
  end: value?.span.end ?? key.span.end,
});
