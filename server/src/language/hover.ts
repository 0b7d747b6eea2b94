/** What the pointer shows on a layer: its cost in full, aligned, each number with its origin. */

import { type Dimension, printDimension } from '../model/dimension.ts';
import {
  atLeast,
  formatBytes,
  formatCount,
  formatFlops,
  formatOperations,
  formatPercent,
  formatSpread,
  formatTime,
} from '../model/format.ts';
import { knownPart } from '../model/knownPart.ts';
import { printable } from '../model/readableIssues.ts';
import type { LayerCost } from '../model/stepCost.ts';
import { bytes, type Seconds } from '../model/units.ts';
import { wrapWords } from '../model/wrapWords.ts';
import { findOperator } from '../operators/registry.ts';
import {
  collectivesOfLine,
  collectivesText,
  dividedBy,
  shardingOfLine,
  stagesOfLine,
} from './layoutOfLine.ts';
import { isOfScenario, type LineCost, lineCost, measuredTime, predictedOfDevice } from './lineCost.ts';
import { hasLayerLines, type LayerRow, type ModelView, rowAtLine, viewsOf } from './modelView.ts';
import { type Position, type Range, rangeOfLine } from './textLines.ts';
import { caffeDocumentation } from './viewCaffe.ts';
import { layerNames } from './wholeLayers.ts';
import { whyUnknown } from './whyUnknown.ts';

export interface Hover {
  readonly markdown: string;
  readonly range: Range;
}

export function hover(view: ModelView, position: Position): Hover | undefined {
  const costs = hoverLine(view, position.line);
  if (costs === '') return undefined;
  const documentation = operatorDocumentation(view, position.line);
  return {
    markdown: [costs, ...(documentation === '' ? [] : [documentation])].join('\n\n'),
    range: rangeOfLine(view.text, position.line),
  };
}

/** What a line costs, as Markdown: a block for every model it belongs to; '' where it is no layer's. */
export function hoverLine(view: ModelView, line: number): string {
  return viewsOf(view)
    .flatMap((each) => {
      const row = rowAtLine(each, line);
      if (row === undefined) return [];
      const name = each.part === undefined ? [] : [`**${each.part.name}**`];
      return [...name, hoverRow(each, row)];
    })
    .join('\n\n');
}

function hoverRow(view: ModelView, row: LayerRow): string {
  const lines = rowLines(view, row).map(printable);
  // A block of code ends at a fence as long as its own (CommonMark 0.31, "Fenced code blocks"); names may hold one.
  const fence = fenceAround(lines);
  return [`${fence}text`, ...lines, fence].join('\n');
}

/** A fence longer than every run of backticks in these lines. */
function fenceAround(lines: readonly string[]): string {
  const runs = lines.flatMap((line) => line.match(/`+/g) ?? []);
  return runs.reduce((longest, run) => (run.length >= longest.length ? `${run}\`` : longest), '```');
}

function rowLines(view: ModelView, row: LayerRow): readonly string[] {
  const cost = lineCost(row);
  const bound = (text: string): string => atLeast(text, cost.exact);
  const [layer] = row.layers;
  const single = row.layers.length === 1 ? layer : undefined;
  const step = view.estimate.cost?.totals.time.step ?? null;
  const time = cost.time.forward + cost.time.backward + knownPart(cost.time.exposed);
  const share = step === null || step === 0 || time === 0 ? '' : shareText(view, time, step);
  const trains = view.estimate.cost?.scenario.mode !== 'inference';
  const measured = measuredTime(row, view.measurements);
  const optimizer = view.estimate.cost?.scenario.optimizer ?? 'none';
  return [
    spread(title(row, single), share),
    ...(single === undefined ? [] : [outputLine(single)]),
    ...(cost.parameters === 0 ? [] : [cell('parameters', parametersText(row, cost.parameters))]),
    '',
    cell('', passes('forward', 'backward', trains)),
    workLine(row, single, bound, trains),
    cell(
      'time',
      `${passes(bound(formatTime(cost.time.forward)), bound(formatTime(cost.time.backward)), trains)}${
        single?.range && time > 0 ? formatSpread(single.range) : ''
      }`,
    ),
    ...(measured === undefined ? [] : measuredLines(view, row, measured)),
    ...(trains || cost.saved > 0 ? memoryLines(cost, bound, optimizer) : []),
    ...(cost.time.communication > 0
      ? [
          '',
          cell(
            view.estimate.cost?.messages?.every(({ isAllReduce }) => isAllReduce) ? 'all-reduce' : 'exchange',
            `${formatTime(cost.time.communication)} over ${sharersOf(view)} GPUs, ${exposureText(
              cost.time.exposed,
            )}`,
          ),
        ]
      : []),
    ...layoutLines(view, row),
    ...origins(view, row),
  ].map((line) => line.trimEnd());
}

function memoryLines(cost: LineCost, bound: (text: string) => string, optimizer: string): readonly string[] {
  const parts = [
    cost.saved === 0 && cost.exact ? 'saves no activations' : `saved ${bound(formatBytes(cost.saved))}`,
    ...(cost.gradient > 0 ? [`gradient ${formatBytes(cost.gradient)}`] : []),
    ...(cost.optimizerState > 0 ? [`${optimizer} state ${formatBytes(cost.optimizerState)}`] : []),
  ];
  return wrapped('memory', parts.map((part) => part.replaceAll(' ', noBreak)).join(`${noBreak}· `)).map(
    (line) => line.replaceAll(noBreak, ' '),
  );
}

/** Stages of a pipeline compute at once: what their layers take adds up to more than the step. */
function shareText({ estimate: { cost } }: ModelView, time: number, step: number): string {
  if (cost?.parallel === undefined || cost.parallel.stages.length === 1)
    return `${formatPercent(time / step)} of the step`;
  const all = cost.layers.reduce(
    (sum, layer) =>
      sum +
      knownPart(layer.time.forward) +
      knownPart(layer.time.backward) +
      knownPart(layer.time.exposedCommunication),
    0,
  );
  return `${formatPercent(time / all)} of all layers`;
}

/** GPUs that exchange gradients: those of a copy of the model have other parts of it. */
const sharersOf = ({ estimate: { cost } }: ModelView): number | string =>
  cost?.parallel?.replicas ?? cost?.scenario.gpus ?? '?';

/** The part of a GPU, what it exchanges with the others of its copy, and the stages of a pipeline. */
function layoutLines({ estimate: { cost } }: ModelView, row: LayerRow): readonly string[] {
  if (cost?.parallel === undefined) return [];
  const [degree, stages] = [dividedBy(row, cost), stagesOfLine(row, cost)];
  const [collectives, sharding] = [collectivesOfLine(row, cost), shardingOfLine(row, cost)];
  const lines = [
    ...(degree === 1 ? [] : [cell('divided', `by ${degree} GPUs; figures are of one of them`)]),
    ...(sharding === '' ? [] : wrapped('tensors', sharding)),
    ...(collectives.length === 0
      ? []
      : wrapped('collectives', `${collectivesText(collectives)}, in a micro-batch`)),
    ...(stages === '' ? [] : [cell('stage', `${stages} of the pipeline`)]),
  ];
  return lines.length === 0 ? [] : ['', ...lines];
}

function exposureText(exposed: Seconds | null): string {
  if (exposed === null) return 'overlap unknown';
  return exposed > 0 ? `${formatTime(exposed)} exposed` : 'hidden by backward';
}

/** FLOPs, or element-wise operations where a layer has no others. */
function workLine(
  row: LayerRow,
  single: LayerCost | undefined,
  bound: (text: string) => string,
  trains: boolean,
): string {
  const { flops } = lineCost(row);
  if (flops.forward > 0 || flops.backward > 0) {
    const text = passes(bound(formatFlops(flops.forward)), bound(formatFlops(flops.backward)), trains);
    return cell('FLOPs', `${text}${boundText(single)}`);
  }
  const operations = (direction: 'forward' | 'backward'): string =>
    bound(
      formatOperations(row.layers.reduce((sum, layer) => sum + knownPart(layer.operations[direction]), 0)),
    );
  return cell(
    'element-wise',
    `${passes(operations('forward'), operations('backward'), trains)}${boundText(single)}`,
  );
}

function title(row: LayerRow, single: LayerCost | undefined): string {
  if (single !== undefined) return `${single.name} · ${single.type}`;
  const types = [...new Set(row.layers.map((layer) => layer.type))];
  return `${row.name} · ${row.group || types.length > 1 ? '' : `${types.join(', ')}, `}sum of ${layerNames(row).length} layers`;
}

const outputLine = (layer: LayerCost): string =>
  cell(
    'output',
    `${layer.output.elementType}${layer.output.shape === null ? ', shape unknown' : shapeText(layer.output.shape)}`,
  );

const shapeText = (shape: readonly Dimension[]): string => `[${shape.map(printDimension).join(', ')}]`;

function parametersText(row: LayerRow, count: number): string {
  const size = row.layers.reduce((sum, layer) => sum + layer.memory.parameters, 0);
  return `${formatCount(count)}${size > 0 ? ` (${formatBytes(bytes(size))})` : ''}`;
}

const boundTexts = {
  compute: 'compute-bound',
  instructions: 'instruction-bound',
  memory: 'memory-bound',
  launch: 'launch-bound',
  none: '',
} as const satisfies Record<LayerCost['bound'], string>;

const boundText = (layer: LayerCost | undefined): string =>
  layer === undefined ? '' : boundTexts[layer.bound];

function measuredLines(view: ModelView, row: LayerRow, total: Seconds): readonly string[] {
  const [layer] = row.layers;
  const measured = layer === undefined ? undefined : view.measurements?.layers.get(layer.name);
  const origin = view.measurements?.origin ?? '';
  const times =
    row.layers.length === 1 && measured !== undefined
      ? pair(formatTime(measured.forward ?? null), formatTime(measured.backward ?? null))
      : pair(formatTime(total), 'both');
  const predicted = predictedOfDevice(row, view);
  const ofDevice = view.costOfDevice;
  return [
    cell('measured', `${times}${origin}`),
    ...(predicted === undefined || ofDevice === undefined || isOfScenario(view)
      ? []
      : [
          cell(
            'predicted',
            `${pair(formatTime(predicted.forward), formatTime(predicted.backward))}for ${ofDevice.gpu}, ${ofDevice.scenario.precision}`,
          ),
        ]),
  ];
}

/** One line per origin, so that no number is without one. */
function origins(view: ModelView, row: LayerRow): readonly string[] {
  const notes = [...new Set(row.layers.flatMap((layer) => layer.notes))];
  const unknown = [
    ...new Set(row.layers.slice(0, mostReasons).flatMap((layer) => whyUnknown(view, row, layer) ?? [])),
  ];
  const sources = [...new Set(row.layers.map((layer) => layer.source))].filter((name) => name !== 'unknown');
  const shown = notes.slice(0, mostNotes);
  return [
    ...(unknown.length + notes.length + sources.length > 0 ? [''] : []),
    ...unknown.flatMap((reason, index) => wrapped(index === 0 ? 'unknown' : '', reason)),
    ...shown.flatMap((note, index) => wrapped(index === 0 ? 'source' : '', note)),
    ...(notes.length > shown.length ? [cell('', `and ${notes.length - shown.length} more`)] : []),
    ...(notes.length === 0 && sources.length > 0 ? [cell('source', sources.join(', '))] : []),
  ];
}

const mostNotes = 4;

/** Repetitions of a line that are asked for their reason; the others say the same. */
const mostReasons = 8;

/** What the operator on this line computes, with its source. */
function operatorDocumentation(view: ModelView, line: number): string {
  const { analysis, format } = view.estimate.opened;
  // A line of a layer spec is in PyTorch's words; the operators it was lowered to are not the person's.
  if (hasLayerLines(view)) return '';
  if (format === 'prototxt') return caffeDocumentation(view, line);
  const node = nodeOnLine(view, line);
  const operator = analysis?.graph.operators.find((candidate) => candidate.source === node);
  if (analysis === undefined || operator === undefined) return '';
  const opset = analysis.graph.operatorSets.get(operator.domain) ?? 0;
  const definition = findOperator(operator.domain, operator.type, opset);
  return definition === undefined ? '' : `\`${operator.type}\`: ${definition.documentation}`;
}

/** The node whose lines hold this one: the last that begins at or above it. Nodes stand in file order. */
const nodeOnLine = (view: ModelView, line: number): number =>
  view.nodeLines.findLastIndex((first) => first <= line);

/** Keeps words together where lines are broken. */
const noBreak = '\u00a0';

const width = 70;
const spread = (left: string, right: string): string =>
  right === '' ? left : `${left}${' '.repeat(Math.max(2, width - left.length - right.length))}${right}`;
const cell = (name: string, text: string): string => `${name.padEnd(12)} ${text}`;
const pair = (left: string, right: string): string => `${left.padEnd(14)}${right.padEnd(14)}`;

/** Inference has no backward. */
const passes = (forward: string, backward: string, trains: boolean): string =>
  trains ? pair(forward, backward) : forward.padEnd(14);

/** A cell whose text is broken at blanks, so that no line is wider than the block. */
function wrapped(name: string, text: string): readonly string[] {
  return wrapWords(text, () => width - 13).map((line, index) => cell(index === 0 ? name : '', line));
}
