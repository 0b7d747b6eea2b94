/** The costs of many models under fixed and random scenarios, flattened to numbers by name, so that two states of the engine can be compared. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { OpenedModel } from '../../server/src/analysis/openedModel.ts';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { makeReport } from '../../server/src/estimate/report/makeReport.ts';
import type { Report } from '../../server/src/estimate/report/report.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { frameworks } from '../../server/src/frameworks/registry.ts';
import { builtInClusters } from '../../server/src/hardware/clusters.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';

/** Numbers of one model under one scenario; `null` where the engine says unknown. */
export interface Costs {
  readonly model: string;
  readonly scenario: string;
  readonly numbers: Readonly<Record<string, number | null>>;
}

const folders = ['samples', '../shared/models'];
const isModel = (path: string): boolean => /\.(onnx|onnxtxt|prototxt|layers\.yaml)(\.gz)?$/.test(path);

/**
 * Every model below `samples/` and, where it is present, `../shared/models`, in training and in inference on one GPU with
 * its layers, then `random` scenarios drawn from a fixed seed with their totals.
 */
export function* takeCosts(root: string, random: number): Generator<Costs> {
  const models = folders.flatMap((folder) => modelsBelow(root, folder));
  const opened = new Map<string, OpenedModel>();
  for (const path of models) {
    const model = open(root, path);
    if (model.analysis === undefined || model.analysis.graph.operators.length < 3) continue;
    opened.set(path, model);
    for (const mode of ['training', 'inference'] as const) {
      const request: ScenarioRequest = { cluster: 'a100-sxm-80gb', precision: 'bf16', mode };
      yield { model: path, scenario: mode, numbers: numbersOf(model, request, true) };
    }
  }
  const draw = generator(20_261_122);
  const pick = <Each>(of: readonly Each[]): Each => {
    const each = of[Math.floor(draw() * of.length)];
    if (each === undefined) throw new Error('nothing to draw from');
    return each;
  };
  const paths = [...opened.keys()];
  for (let index = 0; index < random; index += 1) {
    const path = pick(paths);
    const request: ScenarioRequest = {
      cluster: pick(builtInClusters).name,
      gpus: pick([1, 2, 4, 8, 16, 64, 256]),
      batch: pick([1, 2, 8, 32]),
      precision: pick(['fp32', 'tf32', 'fp16', 'bf16'] as const),
      optimizer: pick(['sgd', 'momentum', 'adamw'] as const),
      framework: { name: pick(frameworks).name, options: {} },
      mode: pick(['training', 'training', 'training', 'inference'] as const),
      checkpoint: pick(['none', 'none', 'block', 'selective'] as const),
    };
    const model = opened.get(path);
    if (model === undefined) continue;
    yield {
      model: path,
      scenario: `random ${index} ${JSON.stringify(request)}`,
      numbers: numbersOf(model, request, false),
    };
  }
}

function modelsBelow(root: string, folder: string): readonly string[] {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter(isModel)
    .sort()
    .map((path) => join(folder, path));
}

function open(root: string, path: string): OpenedModel {
  const contents = readFileSync(join(root, path));
  const bytes = path.endsWith('.gz') ? gunzipSync(contents) : contents;
  return openModel(byteSourceOfBuffer(bytes), path.replace(/\.gz$/, ''));
}

function numbersOf(model: OpenedModel, request: ScenarioRequest, withLayers: boolean): Costs['numbers'] {
  const { opened, cost, issues } = estimateModel(model, [request]);
  const numbers: Record<string, number | null> = {};
  if (cost === undefined || opened.analysis === undefined) return numbers;
  const report = makeReport(opened, opened.analysis, cost, issues);
  flatten({ parameters: report.model.parameters, ...report.totals, unknown: undefined }, '', numbers);
  numbers.findings = report.findings.length;
  if (withLayers) for (const layer of report.layers) flatten(ofLayer(layer), `${layer.name} `, numbers);
  return numbers;
}

const ofLayer = ({ parameters, flops, bytes, time, memory }: Report['layers'][number]) => ({
  parameters,
  flops,
  bytes,
  time,
  memory,
});

function flatten(value: unknown, path: string, numbers: Record<string, number | null>): void {
  if (typeof value === 'number' || value === null) numbers[path] = value;
  else if (typeof value === 'boolean') numbers[path] = value ? 1 : 0;
  else if (typeof value === 'object') {
    for (const [key, each] of Object.entries(value ?? {}))
      flatten(each, path === '' || path.endsWith(' ') ? `${path}${key}` : `${path}.${key}`, numbers);
  }
}

/** Mulberry32: small, and the same on every machine. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
