/** Makes the report of a costed model. */

import type { ModelAnalysis } from '../../analysis/modelAnalysis.ts';
import type { OpenedModel } from '../../analysis/openedModel.ts';
import { type Dimension, isUnknown, printDimension } from '../../model/dimension.ts';
import { bytesOnGpu } from '../../model/elementType.ts';
import type { Range } from '../../model/estimate.ts';
import { gpuMemory } from '../../model/gpuMemory.ts';
import type { Issue } from '../../model/issue.ts';
import { knownPart } from '../../model/knownPart.ts';
import { lazy } from '../../model/lazy.ts';
import { memoize } from '../../model/memoize.ts';
import type { LayerCost, MessageCost, StepCost } from '../../model/stepCost.ts';
import { totalElements } from '../../model/totalElements.ts';
import { keptModel, neededRange } from '../memory/neededRange.ts';
import type { LayerReport, MessageReport, Report } from './report.ts';
import { reportScenario } from './reportScenario.ts';

/**
 * The report of `cost`, the step cost of `opened`. Issues of the file that a person should act on join the
 * findings, so that a reader of the report alone misses nothing.
 */
export function makeReport(
  opened: OpenedModel,
  analysis: ModelAnalysis,
  cost: StepCost,
  issues: readonly Issue[],
): Report {
  return {
    schemaVersion: 1,
    model: modelReport(opened, analysis, cost),
    scenario: reportScenario(cost),
    totals: totalsReport(cost),
    layers: layerReports(cost.layers),
    ...(cost.messages === undefined ? {} : { messages: messageReports(cost, cost.messages) }),
    ...(cost.parallel === undefined ? {} : { parallel: cost.parallel }),
    ...decodingReport(cost),
    findings: [...cost.findings.map(({ change: _, ...finding }) => finding), ...issues.map(issueReport)],
  };
}

const sumOf = <Item>(items: readonly Item[], of: (item: Item) => number): number =>
  items.reduce((total, item) => total + of(item), 0);

const modelReport = (
  { name, format }: OpenedModel,
  { parameters, frozen, batchSymbol }: ModelAnalysis,
  { layers }: StepCost,
): Report['model'] => ({
  name,
  format,
  operators: sumOf(layers, ({ operators }) => operators.length),
  parameters: totalElements(parameters),
  ...(frozen.length === 0 ? {} : { frozenParameters: totalElements(frozen) }),
  batchDimension: batchSymbol ?? null,
  parameterBytes: sumOf(parameters, ({ elements, elementType }) => elements * bytesOnGpu(elementType)),
});

function totalsReport(cost: StepCost): Report['totals'] {
  const { totals, layers, scenario } = cost;
  const isStrong = scenario.globalBatch !== undefined && scenario.gpus > 1;
  return {
    flops: { ...totals.flops },
    operations: {
      forward: sumOf(layers, ({ operations }) => knownPart(operations.forward)),
      backward: sumOf(layers, ({ operations }) => knownPart(operations.backward)),
    },
    time: timeReport(totals.time),
    memory: memoryReport(cost),
    throughput: totals.throughput,
    ...tokensReport(totals),
    scalingEfficiency: totals.scalingEfficiency,
    ...(isStrong ? { strongScalingEfficiency: totals.strongScalingEfficiency } : {}),
    efficiencyNotes: totals.efficiencyNotes,
    mfu: totals.mfu,
    limit: { ...totals.limit },
    ...(totals.input === undefined ? {} : { input: { ...totals.input } }),
    ...workersReport(totals),
    ...(totals.run === undefined
      ? {}
      : { run: { ...totals.run, energy: totals.run.energy && { ...totals.run.energy } } }),
    ...(totals.basis === undefined ? {} : { basis: { ...totals.basis } }),
    exact: totals.exact,
    unknown: totals.unknown.map(({ operator, reason, since, atMost }) => ({
      operator,
      reason,
      since,
      atMost: atMost && { flops: { ...atMost.flops }, operations: { ...atMost.operations } },
    })),
  };
}

const timeReport = (time: StepCost['totals']['time']): Report['totals']['time'] => ({
  input: time.input,
  exposedInput: time.exposedInput,
  forward: time.forward,
  backward: time.backward,
  communication: time.communication,
  exposedCommunication: time.exposedCommunication,
  update: time.update,
  waitingForHost: time.waitingForHost,
  step: time.step,
  stepRange: time.range && pair(time.range),
  exact: time.exact,
});

function tokensReport({
  throughput,
  tokensPerSample,
}: StepCost['totals']): Pick<Report['totals'], 'tokensPerSample' | 'tokenThroughput'> {
  if (tokensPerSample === undefined) return {};
  return { tokensPerSample, tokenThroughput: throughput === null ? null : throughput * tokensPerSample };
}

/** What workers that differ, or that do not wait for each other, make of a step. */
const workersReport = ({
  imbalance,
  mixed,
  asynchronous,
}: StepCost['totals']): Pick<Report['totals'], 'imbalance' | 'mixed' | 'asynchronous'> => ({
  ...(imbalance === undefined ? {} : { imbalance: { ...imbalance } }),
  ...(mixed === undefined
    ? {}
    : { mixed: { slower: { ...mixed.slower }, faster: { ...mixed.faster }, time: mixed.time } }),
  ...(asynchronous === undefined ? {} : { asynchronous: { ...asynchronous } }),
});

const issueReport = ({ code, severity, message }: Issue): Report['findings'][number] => ({
  code,
  severity,
  layer: '',
  message,
  fix: '',
});

function decodingReport({ decoding }: StepCost): Pick<Report, 'decoding'> {
  if (decoding === undefined) return {};
  const { tokens, time, range } = decoding.prefill;
  return { decoding: { ...decoding, prefill: { tokens, time, range: range && pair(range) } } };
}

function messageReports(
  { layers, totals }: StepCost,
  messages: readonly MessageCost[],
): readonly MessageReport[] {
  return messages.map((message) => ({
    bytes: message.bytes,
    time: message.time,
    exposed: totals.exact ? message.exposed : null,
    slack: totals.exact ? message.slack : null,
    layers: message.layers.map(({ index }) => layers[index]?.name ?? ''),
    description: message.description,
  }));
}

function layerReports(layers: readonly LayerCost[]): readonly LayerReport[] {
  const outputOf = memoize(({ shape, elementType }: LayerCost['output']) => ({
    shape: shape === null ? null : shape.map(dimensionReport),
    dtype: elementType,
  }));
  const memoryOf = memoize(({ parameters, activations, gradient }: LayerCost['memory']) => ({
    parameters,
    activations,
    gradient,
  }));
  return layers.map((layer) => ({
    name: layer.name,
    type: layer.type,
    operators: layer.operators,
    parameters: layer.parameters,
    output: outputOf(layer.output),
    flops: layer.flops,
    operations: layer.operations,
    bytes: layer.bytes,
    time: layer.time,
    memory: memoryOf(layer.memory),
    bound: layer.bound,
    source: layer.source,
    range: layer.range && pair(layer.range),
    exact: layer.unknown === undefined,
  }));
}

/** Reserved memory takes long to work out: it is, when it is read. */
function memoryReport(cost: StepCost): Report['totals']['memory'] {
  const { memory } = cost.totals;
  const need = lazy(() => gpuMemory(cost));
  return {
    get needed() {
      return need().needed;
    },
    get neededRange() {
      return pair(neededRange(memory.peak, memory.reserved, keptModel(cost.scenario)));
    },
    get fits() {
      return need().fits;
    },
    parameters: memory.parameters,
    gradients: memory.gradients,
    optimizerState: memory.optimizerState,
    activations: memory.activations,
    workspace: memory.workspace,
    communicationBuffers: memory.communicationBuffers,
    ...(memory.cache === undefined ? {} : { cache: memory.cache }),
    peak: memory.peak,
    capacity: memory.capacity,
    get reserved() {
      return pair(memory.reserved);
    },
    context: memory.context,
    largestBatch: memory.largestBatch,
    peakAt: memory.peakAt,
  };
}

function dimensionReport(dimension: Dimension): number | string | null {
  if (isUnknown(dimension) && dimension.atMost === undefined) return null;
  return typeof dimension === 'number' ? dimension : printDimension(dimension);
}

const pair = ({ low, high }: Range): [low: number, high: number] => [low, high];
