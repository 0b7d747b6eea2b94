/**
 * The whole path of a file, as the command line and the editor walk it: open, cost, report in every format, and
 * everything the editor shows. What comes out is then held to what is promised of every answer.
 */

import type { OpenedModel } from '../../server/src/analysis/openedModel.ts';
import { openModel, openOnnxText } from '../../server/src/analysis/openModel.ts';
import { estimateModel, type ModelEstimate } from '../../server/src/estimate/estimateModel.ts';
import { makeReport } from '../../server/src/estimate/report/makeReport.ts';
import { renderCsv } from '../../server/src/estimate/report/renderCsv.ts';
import { renderHtml } from '../../server/src/estimate/report/renderHtml.ts';
import { renderMarkdown } from '../../server/src/estimate/report/renderMarkdown.ts';
import { renderTable } from '../../server/src/estimate/report/renderTable.ts';
import { renderTrace } from '../../server/src/estimate/report/renderTrace.ts';
import { reportSchema } from '../../server/src/estimate/report/report.ts';
import { byteSourceOfBuffer, decodeText } from '../../server/src/formats/byteSource.ts';
import { locateIssues } from '../../server/src/formats/locateIssues.ts';
import { printOnnxText } from '../../server/src/formats/onnx-text/printOnnxText.ts';
import { codeLenses } from '../../server/src/language/codeLenses.ts';
import { diagnostics } from '../../server/src/language/diagnostics.ts';
import { documentSymbols } from '../../server/src/language/documentSymbols.ts';
import { foldingRanges } from '../../server/src/language/foldingRanges.ts';
import { hover } from '../../server/src/language/hover.ts';
import { inlayHints } from '../../server/src/language/inlayHints.ts';
import { locateOnnxText } from '../../server/src/language/locateOnnxText.ts';
import type { ModelView } from '../../server/src/language/modelView.ts';
import type { Position, Range, TextLines } from '../../server/src/language/textLines.ts';
import { viewCaffe } from '../../server/src/language/viewCaffe.ts';
import { viewLayerSpec } from '../../server/src/language/viewLayerSpec.ts';
import { viewOnnxText } from '../../server/src/language/viewOnnxText.ts';
import type { Issue } from '../../server/src/model/issue.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';

/** One input of the fuzzer: a file as it would lie on a disk, and what is asked of it. */
export interface FuzzInput {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly request: ScenarioRequest;
}

/** What of the path's answer to one input is checked. */
export interface Answer {
  readonly issues: readonly Issue[];
  readonly hasCost: boolean;
  /** Whether a model was read, or an issue says why not. */
  readonly isReadOrRefused: boolean;
  /** The JSON report; absent where there is no cost. */
  readonly report: string | undefined;
  /** What an editor is given; absent where it shows nothing of the file. */
  readonly shown: Shown | undefined;
}

interface Shown {
  readonly text: TextLines;
  readonly positions: readonly Position[];
  readonly ranges: readonly Range[];
}

/** Lines in view at once; hovers are asked for one at a time. */
const screen = 60;

/** `open` comes before each of the others but `editor`, which is a whole by itself: a person waits for one of them. */
export type Part = 'open' | 'command' | 'view' | 'editor';

/** Never throws for an engine that holds its promises. `onPart` hears where each part ends. */
export function answerInput(input: FuzzInput, onPart: (part: Part) => void = () => {}): Answer {
  const { name, bytes, request } = input;
  const command = answerCommand(input, onPart);
  if (command.format !== 'onnx-text') return command.answer;
  // The editor opens a text by itself, in a process that holds nothing of a command.
  const view = viewText(decodeText(byteSourceOfBuffer(bytes)), name, request);
  const shown = showView(view);
  onPart('editor');
  return { ...command.answer, shown };
}

/** The command line's answer, and the view of a file whose text the editor has no way of its own to open. */
function answerCommand(
  { name, bytes, request }: FuzzInput,
  onPart: (part: Part) => void,
): { readonly answer: Answer; readonly format: OpenedModel['format'] } {
  const source = byteSourceOfBuffer(bytes);
  const opened = openModel(source, name, { dimensions: request.dimensions });
  if (opened.issues.some((issue) => issue.span !== undefined))
    locateIssues(opened.issues, decodeText(source));
  const estimate = estimateModel(opened, [request, opened.scenario]);
  onPart('open');
  const answer = {
    issues: estimate.issues,
    hasCost: estimate.cost !== undefined,
    isReadOrRefused: opened.analysis !== undefined || opened.issues.length > 0,
    report: renderings(estimate, onPart),
  };
  const view = viewOf(opened, estimate, source.size < 2 ** 20 ? decodeText(source) : '');
  const shown = view === undefined ? undefined : showView(view);
  onPart('view');
  return { answer: { ...answer, shown }, format: opened.format };
}

/** Everything that an editor shows of a view. */
function showView(view: ModelView): Shown {
  const last = view.text.lines.length - 1;
  const hints = inlayHints(view, 0, screen);
  const hovers = view.rows.slice(0, 20).map((row) => hover(view, { line: row.line, character: 0 }));
  const atEnd = hover(view, { line: last, character: 0 });
  codeLenses(view);
  const folds = foldingRanges(view);
  const symbols = documentSymbols(view);
  return {
    text: view.text,
    positions: [
      ...hints.map((hint) => hint.position),
      ...folds.flatMap(({ firstLine, lastLine }) =>
        [firstLine, lastLine].map((line) => ({ line, character: 0 })),
      ),
    ],
    ranges: [
      ...diagnostics(view).map((diagnostic) => diagnostic.range),
      ...[...hovers, atEnd].flatMap((found) => (found === undefined ? [] : [found.range])),
      ...symbols.flatMap((symbol) => [symbol.range, symbol.selection]),
    ],
  };
}

function renderings(
  { opened, training, scenario, cluster, cost, issues }: ModelEstimate,
  onPart: (part: Part) => void,
): string | undefined {
  if (training === undefined || scenario === undefined || cluster === undefined || cost === undefined) {
    return undefined;
  }
  const report = makeReport(opened, training.analysis, cost, issues);
  onPart('open');
  for (const render of [renderTable, renderCsv, renderMarkdown, renderHtml]) {
    render(report);
    onPart('command');
  }
  renderTrace(training, scenario, cluster);
  onPart('command');
  const json = JSON.stringify(report);
  onPart('command');
  return json;
}

function viewOf(opened: OpenedModel, estimate: ModelEstimate, text: string): ModelView | undefined {
  switch (opened.format) {
    case 'layer-spec':
      return viewLayerSpec(text, estimate);
    case 'prototxt':
      return viewCaffe(text, estimate);
    case 'onnx-text':
      return undefined;
    default: {
      if (opened.onnx === undefined) return undefined;
      const printed = printOnnxText(opened.onnx);
      return viewOnnxText({ ...printed, valueLines: new Map() }, estimate);
    }
  }
}

/** An editor costs what it can of a text that is wrong in places. */
function viewText(text: string, name: string, request: ScenarioRequest): ModelView {
  const edited = openOnnxText(text, name);
  const spans = edited.onnxSpans ?? { nodes: [], values: new Map(), sections: [] };
  return viewOnnxText(locateOnnxText(text, spans), estimateModel(edited, [request]));
}

/** Throws where an answer breaks a promise. */
export function checkAnswer({ issues, hasCost, isReadOrRefused, report, shown }: Answer): void {
  must(hasCost || issues.some(({ severity }) => severity === 'error'), 'no cost, and no error that says why');
  must(isReadOrRefused, 'nothing read, and no issue that says why');
  for (const issue of issues) checkMessage(issue);
  if (report !== undefined) {
    const parsed = reportSchema.safeParse(JSON.parse(report));
    must(
      parsed.success,
      `the report breaks its schema: ${parsed.error?.issues[0]?.path.join('.')} ${parsed.error?.issues[0]?.message}`,
    );
    const negative = /"[a-zA-Z]+":-\d[^,}]*/.exec(report)?.[0];
    must(negative === undefined, `the report has a negative number: ${negative}`);
  }
  if (shown === undefined) return;
  const { text, positions, ranges } = shown;
  const inText = ({ line, character }: Position): boolean =>
    line >= 0 && line < text.lines.length && character >= 0 && character <= (text.lines[line] ?? '').length;
  for (const position of positions)
    must(inText(position), `a place outside the text: ${JSON.stringify(position)}`);
  for (const { start, end } of ranges) {
    must(inText(start) && inText(end), `a range outside the text: ${JSON.stringify([start, end])}`);
    must(
      start.line < end.line || (start.line === end.line && start.character <= end.character),
      `a range that ends before it starts: ${JSON.stringify([start, end])}`,
    );
  }
}

/** What is wrong, where, what to do: on a line that fits on a screen, without what only a program could have written. */
function checkMessage({ code, message, span }: Issue): void {
  const shown = message.slice(0, 300);
  must(
    /[^.\s]$/.test(message),
    `the message of ${code} is empty or ends like a sentence: ${message.slice(-80)}`,
  );
  must(message.length <= 1000, `the message of ${code} is ${message.length} characters long: ${shown}`);
  // At a place in a text, what is wrong there often says what to do: "`)` is missing".
  must(
    span !== undefined || /[:;,(]/.test(message),
    `the message of ${code} says what is wrong or what to do, not both: ${shown}`,
  );
  must(
    !/[\p{Cc}\p{Cs}\u2028\u2029\u202a-\u202e]/u.test(message),
    `the message of ${code} is not one line: ${shown}`,
  );
  must(
    !/\b(NaN|Infinity|undefined)\b|\[object|\[native code\]/.test(message.replace(/`[^`]*`|"[^"]*"/g, '')),
    `the message of ${code} shows what no person wrote: ${shown}`,
  );
}

function must(holds: boolean, promise: string): void {
  if (!holds) throw new Error(promise);
}
