/** `findings/out-of-memory`: tensors need more than the GPU leaves for them, or cannot be placed in it. */

import { repeatedBlocks } from '../../analysis/repeatedBlocks.ts';
import { refusedOptimizer } from '../../frameworks/optimizers/optimizerRules.ts';
import { optimizerRules, resolveFramework } from '../../frameworks/registry.ts';
import { capitalized } from '../../model/capitalized.ts';
import { formatBytes, formatPercent } from '../../model/format.ts';
import type { Finding } from '../../model/stepCost.ts';
import { totalElements } from '../../model/totalElements.ts';
import { type Bytes, bytes } from '../../model/units.ts';
import { memoryOf } from '../memory/memoryOf.ts';
import { isLong } from '../memory/placeableBatch.ts';
import {
  fitsAtBest,
  isFarBelow,
  type ReservedMemory,
  runtimeReserve,
  withRuntime,
} from '../memory/reservedMemory.ts';
import type { MemoryKinds, StepMemory } from '../memory/stepMemory.ts';
import { tightestGpu } from '../memory/tightestGpu.ts';
import { type HeldTables, heldTables } from '../plan/heldTables.ts';
import { timesOf } from '../plan/plannedTimes.ts';
import type { StepPlan } from '../plan/stepPlan.ts';
import { recost } from '../recost.ts';
import type { EstimatedStep } from './estimatedStep.ts';
import { halfWeightsAdvice } from './halfWeightsAdvice.ts';
import { inBackwardAdvice } from './inBackwardAdvice.ts';
import { offloadAdvice } from './offloadAdvice.ts';
import { quantizedBaseAdvice } from './quantizedBaseAdvice.ts';
import { scoresAdvice } from './scoresAdvice.ts';
import { needsText, placeable } from './whatFits.ts';

export function outOfMemory({ plan, memory, reserved, timeline }: EstimatedStep): readonly Finding[] {
  if (fitsAtBest(memory, reserved)) return [];
  const room = memory.capacity - runtimeReserve;
  const [kind, size] = largestKind(memory, plan.scenario.mode === 'training');
  const batch = placeable(plan, memory, room);
  const { title } = tightestGpu(plan);
  const advice = [
    ...halfWeightsAdvice(plan, memory, batch),
    ...quantizedBaseAdvice(plan, memory, batch),
    ...checkpointAdvice(plan, memory, batch, timeline.step),
    ...shardingAdvice(plan, memory),
    ...scoresAdvice(plan, memory, batch),
    ...inBackwardAdvice(plan, memory, batch),
    ...narrowStateAdvice(plan, memory, batch),
    ...offloadAdvice(plan, memory, batch, timeline.step),
  ];
  return [
    {
      code: 'findings/out-of-memory',
      severity: 'warning',
      layer: '',
      message: `${shortageText('The step', title, memory, () => reserved().bounds.high)}. The largest part is ${kind}, ${formatBytes(size)}`,
      fix:
        batch > 0
          ? [
              `Lower the batch per GPU to ${batch}, the largest ${isLong(plan) ? 'whose tensors fit' : 'found that fits'}`,
              ...advice,
            ].join('; or ')
          : `No batch fits: ${formatBytes(bytes(memory.parameters + memory.optimizerState + memory.communicationBuffers))} of parameters, optimizer state and buffers stay, before the first sample. ${capitalized([...advice, 'choose a GPU with more memory'].join('; or '))}`,
      ...(batch > 0 ? { change: { kind: 'batch', batch } } : {}),
    },
  ];
}

/** What `who` needs and what the GPU has. `mostReserved`: what the allocator takes, where tensors alone would fit. */
export function shortageText(
  who: string,
  gpu: string,
  { peak, capacity }: { readonly peak: Bytes; readonly capacity: Bytes },
  mostReserved: () => Bytes,
): string {
  const reserved = withRuntime(peak) > capacity ? undefined : mostReserved();
  const places =
    reserved === undefined ? '' : `, for which the caching allocator reserves up to ${formatBytes(reserved)}`;
  return `${who} needs ${formatBytes(withRuntime(reserved ?? peak))}; ${gpu} has ${formatBytes(capacity)}. Tensors need ${formatBytes(peak)}${places}, driver and framework ${formatBytes(runtimeReserve)}`;
}

/** Where blocks repeat and keep all that backward needs: what it takes to keep only what goes into them. */
function checkpointAdvice(
  plan: StepPlan,
  memory: StepMemory,
  batch: number,
  step: number,
): readonly string[] {
  const { scenario, training } = plan;
  const room = memory.capacity - runtimeReserve;
  if (scenario.mode !== 'training' || (scenario.checkpoint ?? 'none') !== 'none') return [];
  // Costing again takes as long as costing: not where activations are not what is in the way.
  if (stateOf(memory) + memory.communicationBuffers > room) return [];
  const blocks = new Set(repeatedBlocks(training.analysis)?.flatMap((block) => block ?? [])).size;
  const after = blocks === 0 ? undefined : recost(plan, { checkpoint: 'block' });
  if (after === undefined) return [];
  const less = memoryOf(after);
  // Marks of layers have it already.
  if (less.peak >= memory.peak) return [];
  const needs = needsText(after, less, batch);
  if (needs === undefined) return [];
  const longer = step > 0 ? timesOf(after, 'middle').step / step - 1 : 0;
  return [
    `keep only the inputs of its ${blocks} blocks (checkpoint: block), which ${needs} and takes ${formatPercent(longer)} longer at the same batch`,
  ];
}

/** Where every GPU keeps all of the model: what shards of it would leave on each. */
function shardingAdvice(plan: StepPlan, memory: StepMemory): readonly string[] {
  const { scenario, exchange } = plan;
  const state = stateOf(memory);
  const learns = scenario.mode === 'training';
  const isSharded = (learns ? exchange.shards.optimizerState : exchange.shards.parameters) > 1;
  // Shards of little state help little.
  if (scenario.gpus === 1 || isSharded || state < memory.capacity / 4) return [];
  const ofTables = tablesAdvice(plan, memory);
  return [
    ...ofTables,
    `shard ${learns ? 'parameters, gradients and optimizer state' : 'parameters'} over the ${scenario.gpus} GPUs (pytorch-fsdp), which leaves ${formatBytes(bytes(state / scenario.gpus))} of their ${formatBytes(bytes(state))} on each`,
  ];
}

/** Where the moments of Adam are in the way: what is left of them in 8 bits. */
function narrowStateAdvice(plan: StepPlan, memory: StepMemory, batch: number): readonly string[] {
  const { scenario, exchange } = plan;
  const { optimizer, framework, mode, parallel } = scenario;
  const room = memory.capacity - runtimeReserve;
  const isAdam = optimizer === 'adam' || optimizer === 'adamw';
  if (mode !== 'training' || !isAdam || exchange.update === 'at servers') return [];
  if (refusedOptimizer('adamw-8bit', framework.name, optimizerRules(framework), parallel?.tensor ?? 1))
    return [];
  // Costing again takes as long as costing: not where three quarters of the moments are too little.
  const saved = 0.75 * memory.optimizerState;
  if (saved < memory.capacity / 10 || stateOf(memory) + memory.communicationBuffers - saved > room) return [];
  const after = recost(plan, { optimizer: 'adamw-8bit' });
  if (after === undefined) return [];
  const less = memoryOf(after);
  const needs = needsText(after, less, batch);
  if (needs === undefined) return [];
  return [
    `keep the moments in 8 bits (optimizer: adamw-8bit), ${formatBytes(less.optimizerState)} instead of ${formatBytes(memory.optimizerState)}, which ${needs}`,
  ];
}

/** Where most of it is embedding tables: what their shards would leave. */
function tablesAdvice(plan: StepPlan, memory: StepMemory): readonly string[] {
  const { scenario, tables } = plan;
  if (scenario.framework.name !== 'pytorch-ddp' || [...tables.values()].some(({ shards }) => shards > 1))
    return [];
  const options = { ...scenario.framework.options, embeddings: 'table-wise' };
  const framework = { name: 'pytorch-ddp', options };
  const sharded = heldTables(plan.training, resolveFramework(framework).behaviour, scenario.gpus);
  const kept = memory.activations + (1 - shareOf(sharded, plan)) * stateOf(memory);
  // Costing again takes as long as costing: not where what is no table makes the most of it.
  if (kept > memory.peak / 2) return [];
  const after = recost(plan, { framework });
  if (after === undefined || after.tables.size === 0) return [];
  const { peak } = memoryOf(after);
  return peak > memory.peak / 2
    ? []
    : [
        `shard the embedding tables over the ${scenario.gpus} GPUs (embeddings=table-wise), which needs ${formatBytes(withRuntime(peak))}`,
      ];
}

/** Elements of the tables over those of all parameters. */
function shareOf(tables: HeldTables, { training }: StepPlan): number {
  const { parameters } = training.analysis;
  const elements = totalElements(parameters);
  const held = parameters.reduce(
    (sum, parameter, index) => sum + (tables.has(index) ? parameter.elements : 0),
    0,
  );
  return elements === 0 ? 0 : held / elements;
}

const stateOf = ({ parameters, gradients, optimizerState }: StepMemory): number =>
  parameters + gradients + optimizerState;

/** The largest batch that fits at every moment of the step; what grows does so with the batch. 0 where none fits. */
export const largestBatch = (memory: StepMemory): number =>
  memory.largestBatch(memory.capacity - runtimeReserve);

/**
 * What a report calls the largest batch: what the finding found where the step does not fit; else what tensors need per sample,
 * on what the allocator leaves of the GPU for them.
 */
export function batchThatFits(
  memory: StepMemory,
  batch: number,
  reserved: () => ReservedMemory,
  findings: () => readonly Finding[],
): number {
  if (!fitsAtBest(memory, reserved)) {
    const change = findings().find(({ code }) => code === 'findings/out-of-memory')?.change;
    return change?.kind === 'batch' ? change.batch : 0;
  }
  const room = memory.capacity - runtimeReserve;
  const taken = isFarBelow(memory) ? memory.peak : reserved().bounds.high;
  return Math.max(batch, memory.largestBatch((room * memory.peak) / Math.max(memory.peak, taken)));
}

/** The words for the part that takes the most, and its size. */
export function largestKind(
  memory: MemoryKinds,
  learns: boolean,
): readonly [string, ReturnType<typeof bytes>] {
  const kinds = [
    [learns ? 'saved activations' : 'activations', memory.activations],
    ['parameters', memory.parameters],
    ['gradients', memory.gradients],
    ['optimizer state', memory.optimizerState],
    ['workspace', memory.workspace],
    ['communication buffers', memory.communicationBuffers],
  ] as const;
  return kinds.reduce((largest, kind) => (kind[1] > largest[1] ? kind : largest));
}
