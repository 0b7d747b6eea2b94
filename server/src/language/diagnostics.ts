/** Issues of the file and findings of the estimate, each on the narrowest range it concerns. */

import { entryAt } from '../model/at.ts';
import type { Issue, Repair, Severity } from '../model/issue.ts';
import { causesOf, type IssueCode } from '../model/issueCodes.ts';
import { meantName } from '../model/nearestName.ts';
import type { Finding, FindingChange } from '../model/stepCost.ts';
import { tally } from '../model/tally.ts';
import { misspeltDefinition } from './misspeltDefinition.ts';
import {
  firstRange,
  holdsLine,
  isReadingError,
  type ModelView,
  rangeOfIssue,
  rowOfLayer,
  viewOfModel,
  viewsOf,
} from './modelView.ts';
import { type Range, rangeOfSpan } from './textLines.ts';

export interface Diagnostic {
  readonly range: Range;
  readonly severity: Severity;
  readonly code: IssueCode;
  readonly message: string;
  /** What the estimate advises, for a program that can do it. */
  readonly change?: FindingChange;
  /** The edit that the reader went on as if it had been made. */
  readonly repair?: Repair;
  /** Dimensions that could have a value. */
  readonly unset?: readonly string[];
  /** True for text that could go: an editor shows it pale. */
  readonly unnecessary?: true;
  /** The model it is about, where the text holds several. */
  readonly model?: string;
}

export function diagnostics(view: ModelView): readonly Diagnostic[] {
  if (view.others === undefined) return diagnosticsOf(view);
  const views = viewsOf(view);
  const all = views.flatMap((each) =>
    diagnosticsOf(each).map((diagnostic) => ({ ...diagnostic, model: each.part?.name ?? '' })),
  );
  const count = new Map<string, number>();
  for (const each of all) tally(count, keyOf(each));
  // What is so in one model only says in which, unless it stands on that model's own line.
  const named = all.map((each) => {
    const own = viewOfModel(view, each.model).part;
    const { line } = each.range.start;
    const isOwn = own !== undefined && own.firstLine <= line && line <= own.lastLine;
    const isShared = entryAt(count, keyOf(each)) === views.length;
    return { diagnostic: each, shown: isOwn || isShared ? each.message : `${each.model}: ${each.message}` };
  });
  const seen = new Set<string>();
  return named.flatMap(({ diagnostic, shown }) => {
    const key = keyOf({ ...diagnostic, message: shown });
    if (seen.has(key)) return [];
    seen.add(key);
    return [{ ...diagnostic, message: shown }];
  });
}

function diagnosticsOf(view: ModelView): readonly Diagnostic[] {
  const issues = view.estimate.issues.map((issue) => ({ issue, range: rangeOfIssue(view, issue) }));
  const shown = withoutConsequences(view, issues).map(
    ({ issue: { code, severity, message, repair, unset }, range }) => ({
      range,
      severity,
      code,
      message,
      ...(repair === undefined ? {} : { repair }),
      ...(unset === undefined ? {} : { unset }),
      ...(unnecessary.has(code) ? { unnecessary: true as const } : {}),
    }),
  );
  return withoutRepetition([...shown, ...diagnosticsOfFindings(view)]);
}

interface PlacedIssue {
  readonly issue: Issue;
  readonly range: Range;
}

/**
 * What follows from a line that is itself wrong would only repeat it in other words. Where a line cannot be read, what is
 * missing or unlike elsewhere may be so because of it, and is said when the line can be.
 */
function withoutConsequences(view: ModelView, issues: readonly PlacedIssue[]): readonly PlacedIssue[] {
  const lineOf = ({ range }: PlacedIssue): number => range.start.line;
  const linesOf = (some: readonly PlacedIssue[]): ReadonlySet<number> => new Set(some.map(lineOf));
  const errors = issues.filter(({ issue }) => issue.severity === 'error' && issue.span !== undefined);
  const unread = errors.filter(({ issue }) => isReadingError(issue));
  const wrongLines = linesOf(errors);
  const unreadLines = linesOf(unread);
  const brokenCalls = new Set<number>();
  const misnamed = new Set<string>();
  return issues.filter((placed) => {
    const { issue } = placed;
    const line = lineOf(placed);
    if (isReadingError(issue)) {
      // The rest of a call is read by guessing.
      const isRepeated = issue.code === 'spec/call' && brokenCalls.has(line);
      brokenCalls.add(line);
      return !isRepeated;
    }
    if (issue.operator !== undefined && (unread.length > 0 || wrongLines.has(line))) return false;
    if (issue.span === undefined) return true;
    if (unnecessary.has(issue.code)) return errors.length === 0;
    // A definition that is misspelt is missing wherever it is read.
    const meant = following.has(issue.code) ? meantName(issue.message) : undefined;
    const word = meant === undefined ? '' : textIn(view, placed.range);
    if (meant !== undefined && misspeltDefinition(view.text.lines.join('\n'), word, meant) !== undefined) {
      if (misnamed.has(word)) return false;
      misnamed.add(word);
    }
    return !unreadLines.has(line) && !(unread.length > 0 && following.has(issue.code));
  });
}

const textIn = ({ text }: ModelView, { start, end }: Range): string =>
  text.lines[start.line]?.slice(start.character, end.character) ?? '';

/** What may be so only because a line could not be read. */
const following: ReadonlySet<IssueCode> = new Set<IssueCode>([
  'spec/unknown-source',
  'spec/unknown-layer',
  'spec/dimension',
  'spec/argument',
  'shape/mismatch',
]);

const unnecessary: ReadonlySet<IssueCode> = new Set<IssueCode>(['spec/unused', 'spec/unread-layer']);

/** Repetitions of a block share a line: the first finding speaks for the others and says how many they are. */
function diagnosticsOfFindings(view: ModelView): readonly Diagnostic[] {
  const isPartial = isHalfWritten(view);
  const groups = new Map<string, { readonly range: Range; readonly findings: Finding[] }>();
  for (const finding of view.estimate.cost?.findings ?? []) {
    if (isPartial && !ofAnyModel.has(finding.code)) continue;
    const row = finding.layer === '' ? undefined : rowOfLayer(view, finding.layer);
    const range = row?.range ?? rangeOfCause(view, finding);
    const key = `${finding.code} ${range.start.line} ${row === undefined ? finding.message : ''}`;
    const group = groups.get(key) ?? { range, findings: [] };
    group.findings.push(finding);
    groups.set(key, group);
  }
  const lateLines = new Set(
    [...groups.values()].flatMap(({ range, findings }) =>
      findings[0]?.code === 'findings/late-gradient' ? range.start.line : [],
    ),
  );
  return [...groups.values()].flatMap(({ range, findings }) => {
    const [first] = findings;
    // The late gradient of a line is why its message is exposed.
    const isNamed = first?.code === 'findings/exposed-communication' && lateLines.has(range.start.line);
    return first === undefined || isNamed
      ? []
      : [
          {
            range,
            severity: first.severity,
            code: first.code,
            // What is wrong, then what to do: editors show lines as lines.
            message: [
              first.message,
              ...(first.fix === '' ? [] : [first.fix]),
              ...(findings.length > 1
                ? [
                    `This also holds for ${findings.length - 1} other ${findings.length === 2 ? 'repetition' : 'repetitions'} of this line`,
                  ]
                : []),
            ].join('\n'),
            ...(first.change === undefined ? {} : { change: first.change }),
          },
        ];
  });
}

/** A spec of one layer, or with a line that cannot be read: what its step waits for is not what it will. */
function isHalfWritten({ estimate }: ModelView): boolean {
  if (estimate.opened.layerSpec === undefined) return false;
  return (estimate.cost?.layers.length ?? 0) < 2 || estimate.issues.some(isReadingError);
}

/** Findings that more layers do not take away. */
const ofAnyModel: ReadonlySet<IssueCode> = new Set<IssueCode>([
  'findings/out-of-memory',
  'findings/unsupported-precision',
  'findings/trained-adapters',
]);

/** Where the scenario sets what causes a finding about the whole step; where it sets none of it, the model's first line. */
function rangeOfCause(view: ModelView, { code }: Finding): Range {
  const { selectedModel, analysis } = view.estimate.opened;
  for (const cause of causesOf(code)) {
    const batch = cause === 'batch' ? analysis?.batchSymbol : undefined;
    const dim = selectedModel?.dims.find(({ name }) => name.text === batch);
    const span = selectedModel?.scenarioSpans.get(cause) ?? dim?.value?.span;
    if (span === undefined) continue;
    const range = rangeOfSpan(view.text, span);
    // What several models of a text share is above the model that the finding is about.
    if (view.part === undefined || holdsLine(view, range.start.line)) return range;
  }
  return firstRange(view);
}

/** The file's issues may reach the view twice: by reading, and by the report of the estimate. */
function withoutRepetition(all: readonly Diagnostic[]): readonly Diagnostic[] {
  const seen = new Set<string>();
  return all.filter((diagnostic) => {
    const key = keyOf(diagnostic);
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

const keyOf = ({ code, message, range }: Pick<Diagnostic, 'code' | 'message' | 'range'>): string =>
  `${code} ${range.start.line}:${range.start.character} ${message}`;
