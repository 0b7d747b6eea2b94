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
  const { totals } = cost;
  return {
    schemaVersion: 1,
    model: {
      name: opened.name,
      format: opened.format,
      operators: cost.layers.reduce((total, layer) => total + layer.operators.length, 0),
      parameters: analysis.parameters.reduce((total, parameter) => total + parameter.elements, 0),
      ...(analysis.frozen.length === 0
        ? {}
        : { frozenParameters: analysis.frozen.reduce((total, { elements }) => total + elements, 0) }),
      batchDimension: analysis.batchSymbol ?? null,
      parameterBytes: analysis.parameters.reduce(
        (total, parameter) => total + parameter.elements * bytesOnGpu(parameter.elementType),
        0,
      ),
    },
    scenario: reportScenario(cost),
    totals: {
      flops: { ...totals.flops },
      operations: {
        forward: cost.layers.reduce((total, layer) => total + knownPart(layer.operations.forward), 0),
        backward: cost.layers.reduce((total, layer) => total + knownPart(layer.operations.backward), 0),
      },
      time: {
        input: totals.time.input,
        exposedInput: totals.time.exposedInput,
        forward: totals.time.forward,
        backward: totals.time.backward,
        communication: totals.time.communication,
        exposedCommunication: totals.time.exposedCommunication,
        update: totals.time.update,
        waitingForHost: totals.time.waitingForHost,
        step: totals.time.step,
        stepRange: totals.time.range && pair(totals.time.range),
        exact: totals.time.exact,
      },
      memory: memoryReport(cost),
      throughput: totals.throughput,
      ...(totals.tokensPerSample === undefined
        ? {}
        : {
            tokensPerSample: totals.tokensPerSample,
            tokenThroughput: totals.throughput === null ? null : totals.throughput * totals.tokensPerSample,
          }),
      scalingEfficiency: totals.scalingEfficiency,
      ...(cost.scenario.globalBatch === undefined || cost.scenario.gpus < 2
        ? {}
        : { strongScalingEfficiency: totals.strongScalingEfficiency }),
      efficiencyNotes: totals.efficiencyNotes,
      mfu: totals.mfu,
      limit: { ...totals.limit },
      ...(totals.input === undefined ? {} : { input: { ...totals.input } }),
      ...(totals.imbalance === undefined ? {} : { imbalance: { ...totals.imbalance } }),
      ...(totals.mixed === undefined
        ? {}
        : {
            mixed: {
              slower: { ...totals.mixed.slower },
              faster: { ...totals.mixed.faster },
              time: totals.mixed.time,
            },
          }),
      ...(totals.asynchronous === undefined ? {} : { asynchronous: { ...totals.asynchronous } }),
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
    },
    layers: layerReports(cost.layers),
    ...(cost.messages === undefined ? {} : { messages: messageReports(cost, cost.messages) }),
    ...(cost.parallel === undefined ? {} : { parallel: cost.parallel }),
    ...decodingReport(cost),
    findings: [
      ...cost.findings.map(({ change: _, ...finding }) => finding),
      ...issues.map((issue) => ({
        code: issue.code,
        severity: issue.severity,
        layer: '',
        message: issue.message,
        fix: '',
      })),
    ],
  };
}

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
