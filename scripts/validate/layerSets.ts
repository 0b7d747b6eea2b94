/** Single layers and operators that others measured, predicted as layers of a model. */

import type { OpenedModel } from '../../server/src/analysis/openedModel.ts';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';
import { quantile } from '../calibrate/descend.ts';
import { halves, type MeasuredRow, numberIn } from '../measured/readMeasured.ts';
import type { OpenGraph } from './graphs.ts';
import { type LayerTime, layerTimes, type PassTime } from './layerTimes.ts';
import { operatorCall, recurrentCall } from './operatorCalls.ts';
import { pipedreamSpec } from './pipedreamSpec.ts';

export interface JudgedLayer extends PassTime {
  /** "alexnet conv1 forward". */
  readonly label: string;
  /** Rows that share one graphics card, network or kind. */
  readonly group: string;
  /** Seconds. */
  readonly measured: number;
}

export interface LayerSet {
  readonly title: string;
  /** In `measured/`. */
  readonly file: string;
  readonly held: string;
  readonly peer: string;
  /** `undefined` where a graph that is needed is absent. */
  readonly judge: (rows: readonly MeasuredRow[], open: OpenGraph) => JudgedLayers | undefined;
}

export interface JudgedLayers {
  readonly layers: readonly JudgedLayer[];
  /** Rows that nothing is predicted for. */
  readonly left: number;
}

export const layerSets: readonly LayerSet[] = [
  {
    title: 'Caffe on Titan X (Maxwell)',
    file: 'layers-caffe.csv',
    held: 'all rows: the products and kernels of this GPU were fitted to DeepBench, nothing to these',
    peer: '',
    judge: judgeCaffe,
  },
  {
    title: 'PipeDream, PyTorch layers, free scale',
    file: 'layers-pipedream.csv',
    held: 'halves of the layers of each network in turn: the machines are not named, so two numbers for each network, a scale and what timing a call adds, are fitted to one half and judged on the other',
    peer: '',
    judge: judgePipedream,
  },
  {
    title: 'NeuSight, operators, NVIDIA',
    file: 'operators-neusight.csv',
    held: 'all rows but for what timing a call adds, one number for each machine and pass, fitted to half of its calls and judged on the other; kernels were fitted to other shapes, of which half were kept back',
    peer: '',
    judge: (rows) =>
      judgeOperators(
        rows.filter(({ gpu }) => gpu?.startsWith('mi') !== true),
        operatorCall,
        calledOneByOne,
      ),
  },
  {
    title: 'NeuSight, operators, AMD',
    file: 'operators-neusight.csv',
    held: 'as above; no kernel of AMD was fitted to',
    peer: '',
    judge: (rows) =>
      judgeOperators(
        rows.filter(({ gpu }) => gpu?.startsWith('mi') === true),
        operatorCall,
        calledOneByOne,
      ),
  },
  {
    title: 'DeepBench, recurrent layers',
    file: 'recurrent.csv',
    held: 'all rows: but for one number, what lies between the kernels of two steps, from every second row; CUDNN_SKIP_INPUT, so the product of the inputs is left out',
    peer: '',
    judge: (rows) => judgeOperators(rows, recurrentCall),
  },
];

function judgeCaffe(rows: readonly MeasuredRow[], open: OpenGraph): JudgedLayers | undefined {
  const layers: JudgedLayer[] = [];
  let left = 0;
  for (const [model, list] of groupedBy(rows, 'model')) {
    const opened = open(`shared:models/caffe-convnet-benchmarks/${model}.prototxt`);
    if (opened === undefined) return undefined;
    const times = layerTimes(opened, {
      cluster: list[0]?.gpu ?? '',
      precision: 'fp32',
      optimizer: 'none',
      mode: 'training',
      framework: { name: 'caffe-mpi', options: { convolution: 'implicit' } },
    });
    for (const row of list) {
      const time = times.get(row.layer ?? '');
      if (time === undefined) left += 1;
      else layers.push(...passesOf(row, time, `${model} ${row.layer}`, model));
    }
  }
  return { layers, left };
}

function judgePipedream(rows: readonly MeasuredRow[]): JudgedLayers {
  const layers: JudgedLayer[] = [];
  let left = 0;
  for (const [model, list] of groupedBy(rows, 'model')) {
    const { text, measured } = pipedreamSpec(list);
    const times = layerTimes(openLayerSpec(text, `${model}.layers.yaml`), {
      cluster: 'v100-pcie-16gb',
      precision: 'fp32',
      optimizer: 'none',
      mode: 'training',
      framework: { name: 'pytorch-ddp', options: {} },
    });
    const own: JudgedLayer[] = [];
    for (const row of measured) {
      const time = times.get(row.layer ?? '');
      if (time === undefined) {
        left += 1;
        continue;
      }
      own.push({
        label: `${model} ${row.layer} ${row.call}`,
        group: model,
        measured: (numberIn(row, 'forward') + numberIn(row, 'backward')) * 1e-3,
        time: time.forward.time + time.backward.time,
        atPeak: time.forward.atPeak + time.backward.atPeak,
        atBandwidth: time.forward.atBandwidth + time.backward.atBandwidth,
      });
    }
    layers.push(...onUnknownMachine(own));
  }
  return { layers, left };
}

/** A layer spec of one layer `op`, and how it is run; `undefined` where the row cannot be written as one. */
export interface OperatorCall {
  readonly spec: string;
  readonly request: ScenarioRequest;
}

function judgeOperators(
  rows: readonly MeasuredRow[],
  callOf: (row: MeasuredRow) => OperatorCall | undefined,
  asTimed: (layers: readonly JudgedLayer[], rows: readonly MeasuredRow[]) => readonly JudgedLayer[] = (
    layers,
  ) => layers,
): JudgedLayers {
  const layers: JudgedLayer[] = [];
  let left = 0;
  for (const [gpu, list] of groupedBy(rows, 'gpu')) {
    const own: JudgedLayer[] = [];
    for (const row of list) {
      const call = callOf(row);
      const time = call && layerTimes(openOne(call.spec), call.request).get('op');
      if (time === undefined) left += 1;
      else own.push(...passesOf(row, time, labelOf(row), gpu));
    }
    layers.push(...asTimed(own, list));
  }
  return { layers, left };
}

/**
 * Each call of a machine was timed by itself, on a GPU that waits for it: until the first kernel arrives nothing runs, and
 * no call is shorter than the shortest. How long the GPU waits, up to the shortest call, is taken from one half of the
 * calls and given to the other, forward and backward apart: modules are called by Python, gradients by autograd.
 */
function calledOneByOne(
  layers: readonly JudgedLayer[],
  rows: readonly MeasuredRow[],
): readonly JudgedLayer[] {
  const least = shortestCall(rows);
  return ['forward', 'backward'].flatMap((pass) => {
    const { fitted, held } = halves(layers.filter(({ label }) => label.endsWith(pass)));
    return [
      [fitted, held],
      [held, fitted],
    ].flatMap(([known = [], judged = []]) => {
      const wait = waitOf(known, least);
      return judged.map((layer) => ({ ...layer, time: Math.max(layer.time + wait, least) }));
    });
  });
}

/** Seconds, the one with the least median error. */
function waitOf(layers: readonly JudgedLayer[], shortest: number): number {
  let best = 0;
  let least = Number.POSITIVE_INFINITY;
  for (let wait = 0; wait <= shortest; wait += 1e-6) {
    const error = medianError(
      layers.map((layer) => ({ ...layer, time: Math.max(layer.time + wait, shortest) })),
    );
    if (error >= least) continue;
    least = error;
    best = wait;
  }
  return best;
}

/** Seconds. What calling anything takes on a machine: that of the shortest call, which fills one small tensor. */
const shortestCall = (rows: readonly MeasuredRow[]): number =>
  Math.min(...rows.map((row) => numberIn(row, 'forward'))) * 1e-3;

const openOne = (spec: string): OpenedModel => openLayerSpec(spec, 'op.layers.yaml');

const labelOf = (row: MeasuredRow): string =>
  Object.entries(row)
    .filter(([column]) => !passColumns.has(column))
    .map(([, cell]) => cell)
    .join(' ');

const passColumns: ReadonlySet<string> = new Set(['forward', 'backward', 'data', 'weight']);

/** A pass that was not measured, or took less than the clock tells, is no row. */
function passesOf(row: MeasuredRow, time: LayerTime, label: string, group: string): readonly JudgedLayer[] {
  const backward =
    row.backward === undefined
      ? row.data === '' || row.weight === ''
        ? 0
        : numberIn(row, 'data') + numberIn(row, 'weight')
      : numberIn(row, 'backward');
  return [
    { label: `${label} forward`, group, measured: numberIn(row, 'forward') * 1e-3, ...time.forward },
    { label: `${label} backward`, group, measured: backward * 1e-3, ...time.backward },
  ].filter(({ measured, time: predicted }) => measured >= shortest && predicted > 0);
}

/** Seconds. */
const shortest = 5e-6;

/** A scale and an addition, each taken from one half of the layers and given to the other. */
function onUnknownMachine(layers: readonly JudgedLayer[]): readonly JudgedLayer[] {
  const { fitted, held } = halves(layers);
  return [
    [fitted, held],
    [held, fitted],
  ].flatMap(([known = [], judged = []]) => {
    const { scale, addition } = machineOf(known);
    return judged.map((layer) => ({ ...layer, time: layer.time * scale + addition }));
  });
}

/** The pair with the least median error, over a grid of both. */
function machineOf(layers: readonly JudgedLayer[]): { readonly scale: number; readonly addition: number } {
  let best = { scale: 1, addition: 0 };
  let least = Number.POSITIVE_INFINITY;
  for (let addition = 0; addition < 1e-3; addition += 2e-5) {
    for (let step = -20; step <= 20; step += 1) {
      const scale = 1.05 ** step;
      const error = medianError(layers.map((layer) => ({ ...layer, time: layer.time * scale + addition })));
      if (error >= least) continue;
      least = error;
      best = { scale, addition };
    }
  }
  return best;
}

/** Of logarithms. */
const medianError = (layers: readonly JudgedLayer[]): number =>
  quantile(
    layers.map(({ time, measured }) => Math.abs(Math.log(time / measured))).sort((a, b) => a - b),
    0.5,
  );

function groupedBy(
  rows: readonly MeasuredRow[],
  column: string,
): ReadonlyMap<string, readonly MeasuredRow[]> {
  const groups = new Map<string, MeasuredRow[]>();
  for (const row of rows) {
    const key = row[column] ?? '';
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [row]);
    else group.push(row);
  }
  return groups;
}
