/**
 * A model as it stands in an editor: its text, its costs, and on which line each layer is.
 *
 * Every feature of this room is a function of a view; a layer spec and the text of an ONNX file differ only in
 * how their view is made.
 */

import type { ModelEstimate } from '../estimate/estimateModel.ts';
import type { Issue } from '../model/issue.ts';
import type { IssueCode } from '../model/issueCodes.ts';
import type { LayerMeasurements } from '../model/measurement.ts';
import type { LayerCost, StepCost } from '../model/stepCost.ts';
import { spanOfAttribute } from './onnx-text/spanOfAttribute.ts';
import { type Range, rangeOfLine, rangeOfSpan, type TextLines } from './textLines.ts';

export interface ModelView {
  readonly text: TextLines;
  readonly estimate: ModelEstimate;
  /** The same step by the layers of the file, where those of `estimate` are parts of them on lines. Reports are of these. */
  readonly whole?: ModelEstimate;
  /** In order of lines; a line has at most one row. */
  readonly rows: readonly LayerRow[];
  /** Line of each node, by its index in the file; of a layer spec, by its index among the lowered nodes. */
  readonly nodeLines: readonly number[];
  /** Line that declares an input, output or initializer of an ONNX file, by name. */
  readonly valueLines: ReadonlyMap<string, number>;
  /** Parts of the text: the blocks of a layer spec, the sections of an ONNX text. */
  readonly blocks: readonly TextBlock[];
  /** The text is in the words of a layer spec, whatever the file is. */
  readonly showsLayers?: boolean;
  /** What a benchmark measured, if one was run. */
  readonly measurements: LayerMeasurements | undefined;
  /** The step on one of the GPUs that were measured; absent where it has no profile. */
  readonly costOfDevice?: StepCost;
  /** Why the last benchmark is not one of this model in this scenario here; its times are not shown. */
  readonly staleBenchmark?: string;
  /** True where totals are those of the text before it was half written. */
  readonly stale?: boolean;
  /** Which model of its text it is, where the text holds several. */
  readonly part?: ModelPart;
  /** Views of the other models of the text, in order. */
  readonly others?: readonly ModelView[];
}

/** One model of several in a text, and the lines it says alone; other lines may be of more than one. */
export interface ModelPart {
  readonly name: string;
  readonly firstLine: number;
  readonly lastLine: number;
}

export interface TextBlock {
  readonly name: string;
  readonly firstLine: number;
  readonly lastLine: number;
}

/** One line and the layers that stand on it: one, or the repetitions of a block's line. */
export interface LayerRow {
  /** As the person named it: `fc`, or `/layer1/layer1.0/conv1`. */
  readonly name: string;
  /** The line that carries the hint. */
  readonly line: number;
  /** What findings about these layers underline. */
  readonly range: Range;
  /** All lines that belong to it, the hint's line included. */
  readonly lines: readonly number[];
  readonly layers: readonly LayerCost[];
  /** Names of the file's layers that `layers` are parts of. */
  readonly wholes?: readonly string[];
  /** True where a part of what stands on these lines is not in the graph: their numbers are lower bounds. */
  readonly partial?: true;
  /** True for the line that calls a block: its layers also stand on lines of their own. */
  readonly group: boolean;
}

/** The views of all models of a text, in order. */
export const viewsOf = (view: ModelView): readonly ModelView[] =>
  view.others === undefined ? [view] : [view, ...view.others];

/** Views of several models of one text as one; `undefined` where there are none. */
export function joinViews([first, ...others]: readonly ModelView[]): ModelView | undefined {
  return first === undefined || others.length === 0 ? first : { ...first, others };
}

/** Whether a line is of this model alone. */
export const holdsLine = ({ part }: ModelView, line: number): boolean =>
  part !== undefined && part.firstLine <= line && line <= part.lastLine;

/** The view of the model that a line belongs to; on a line that several share, that of the first. */
export const viewAtLine = (view: ModelView, line: number): ModelView =>
  viewsOf(view).find((each) => holdsLine(each, line)) ?? view;

/** The view of the model of this name; of the first where there is none. */
export const viewOfModel = (view: ModelView, name: string | undefined): ModelView =>
  viewsOf(view).find(({ part }) => part?.name === name) ?? view;

/** The row a line belongs to. */
export function rowAtLine(view: ModelView, line: number): LayerRow | undefined {
  return view.rows.find((row) => row.lines.includes(line));
}

/** The row a layer stands on, the most particular one. */
export function rowOfLayer(view: ModelView, layer: string): LayerRow | undefined {
  const holds = (row: LayerRow): boolean => row.layers.some((candidate) => candidate.name === layer);
  return view.rows.find((row) => !row.group && holds(row)) ?? view.rows.find(holds);
}

/** Where an issue is, as narrow as it says; the first line of the text where it says nothing. */
export function rangeOfIssue(view: ModelView, issue: Issue): Range {
  if (issue.span !== undefined) return rangeOfSpan(view.text, issue.span);
  if (issue.operator !== undefined && issue.attribute !== undefined) {
    const span = spanOfAttribute(view, issue.operator, issue.attribute);
    if (span !== undefined) return rangeOfSpan(view.text, span);
  }
  const line =
    issue.operator !== undefined
      ? view.nodeLines[issue.operator]
      : issue.value !== undefined
        ? view.valueLines.get(issue.value)
        : undefined;
  return line === undefined ? firstRange(view) : rangeOfLine(view.text, line);
}

/** Where stands what is about the model as a whole: its first line, after the header of an ONNX text. */
export const firstRange = ({ part, text, blocks }: ModelView): Range => {
  const header = blocks.find(({ name }) => name === 'header');
  const first = header === undefined ? firstLineWithText(text) : header.lastLine + 1;
  return rangeOfLine(text, part?.firstLine ?? Math.min(first, text.lines.length - 1));
};

/** The first line that says something: neither blank nor a comment. */
const firstLineWithText = (text: TextLines): number =>
  Math.max(
    0,
    text.lines.findIndex((line) => /^\s*[^\s#]/.test(line)),
  );

/** Whether a line could not be read, or is half written; what is wrong with lines that can be read is another matter. */
export const isReadingError = ({ severity, code }: Issue): boolean =>
  severity === 'error' && isReadingCode(code);

export const isReadingCode = (code: IssueCode): boolean => readingCodes.has(code);

const readingCodes: ReadonlySet<IssueCode> = new Set<IssueCode>([
  'spec/syntax',
  'spec/call',
  'spec/structure',
  'onnx/text-syntax',
]);

/** Whether its lines are calls of layers: those of a layer spec, or of a binary model that is shown as one. */
export const hasLayerLines = ({ showsLayers, estimate }: ModelView): boolean =>
  showsLayers === true || estimate.opened.format === 'layer-spec';
