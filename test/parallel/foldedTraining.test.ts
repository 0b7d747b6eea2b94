/** Blocks that are alike are costed once: no number may tell. The graph without its blocks is divided and lowered whole. */

import { describe, expect, it, test } from 'vitest';
import type { TrainingGraph } from '../../server/src/analysis/modelAnalysis.ts';
import { costStep } from '../../server/src/estimate/costStep.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { estimateStep } from '../../server/src/estimate/estimateStep.ts';
import { memoryOf } from '../../server/src/estimate/memory/memoryOf.ts';
import { reservedMemory } from '../../server/src/estimate/memory/reservedMemory.ts';
import { planStep } from '../../server/src/estimate/plan/planStep.ts';
import { findCluster } from '../../server/src/hardware/clusters.ts';
import type { StepCost } from '../../server/src/model/stepCost.ts';
import { blockRun } from '../../server/src/parallel/blockRun.ts';
import { cutsOf } from '../../server/src/parallel/pipelineStages.ts';
import { shardTraining } from '../../server/src/parallel/shardTraining.ts';
import { foldedTraining, stageTraining } from '../../server/src/parallel/stageTraining.ts';
import { openGraph } from '../support/savedActivations.ts';

const cluster = findCluster('dgx-a100');

const models = [
  ['samples/tinyllama.layers.yaml', 20],
  ['samples/bert-base.onnx', 10],
  ['samples/gpt2.onnx', 10],
] as const;

function opened(path: string) {
  const { training, scenario } = estimateModel(openGraph(path), [{ gpus: 1, batch: 2, precision: 'bf16' }]);
  if (training === undefined || scenario === undefined) throw new Error(`${path} cannot be costed`);
  return { training, scenario, bindings: new Map(Object.entries(scenario.dimensions)) };
}

const exchanges = ['ring', 'all-gather', 'all-to-all'] as const;

/** The same graph, of which nobody knows that it repeats anything. */
function unfolded({ folded: _, ...training }: TrainingGraph): TrainingGraph {
  const { folded: __, ...analysis } = training.analysis;
  return { ...training, analysis };
}

function withoutBlocks(training: TrainingGraph): TrainingGraph {
  const whole = unfolded(training);
  return { ...whole, analysis: { ...whole.analysis, layers: [] } };
}

describe.each(models)('%s', (path, blocks) => {
  const { training, scenario, bindings } = opened(path);

  it('has a run of blocks', () => {
    const run = blockRun(training.analysis, cutsOf(training.analysis));
    expect(run?.count).toBeGreaterThanOrEqual(blocks);
    expect(foldedTraining(training, 'whole').folded?.costs.length).toBeLessThan(training.costs.length * 0.7);
  });

  test.each([
    { ways: 2, sequence: false, keepsGathered: true },
    { ways: 4, sequence: true, keepsGathered: true },
    { ways: 2, sequence: true, keepsGathered: false },
    ...exchanges.map((exchange) => ({
      ways: 2,
      sequence: true,
      keepsGathered: true,
      context: { ways: 2, exchange },
    })),
    { ways: 1, sequence: false, keepsGathered: true, context: { ways: 4, exchange: 'ring' as const } },
  ])('is divided as the whole graph is: %o', (degree) => {
    const own = shardTraining(training, bindings, degree);
    const whole = shardTraining(withoutBlocks(training), bindings, degree);
    expect(own.training.folded).toBeDefined();
    expect(whole.training.folded).toBeUndefined();
    expect(own.training.costs).toEqual(whole.training.costs);
    expect(own.training.analysis.parameters).toEqual(whole.training.analysis.parameters);
    expect([...own.training.tensors]).toEqual([...whole.training.tensors]);
    expect(own.collectives).toEqual(
      whole.collectives.toSorted((one, other) => one.operator - other.operator),
    );
    expect(own.cores).toEqual(whole.cores);
    expect(own.wholeSequence).toEqual(whole.wholeSequence);
    expect(own.partialGradients).toEqual(whole.partialGradients);
    expect(own.whole).toEqual(whole.whole);
  });

  test.each([
    { name: 'pytorch-ddp', options: {} },
    { name: 'pytorch-fsdp', options: {} },
    { name: 'pytorch-ddp', options: { compile: 'true' } },
  ])('copies of the whole model cost the same: %o', (framework) => {
    if (cluster === undefined) throw new Error('no cluster');
    const own = { ...scenario, gpus: 16, nodes: 2, framework };
    const whole = unfolded(training);
    const shown = (cost: StepCost | undefined) =>
      cost && [cost.totals, cost.fits, cost.layers, cost.findings, cost.messages];
    const short = costStep(whole, own, cluster);
    expect(shown(short)).toEqual(shown(estimateStep(whole, own, cluster)));
  });

  test.each(['none', 'block', 'selective'] as const)('stages cost the same, checkpoint %s', (checkpoint) => {
    if (cluster === undefined) throw new Error('no cluster');
    const { training: worker } = shardTraining(training, bindings, {
      ways: 2,
      sequence: true,
      keepsGathered: true,
    });
    const cuts = cutsOf(worker.analysis);
    const end = worker.costs.length;
    const middle = cuts[2] ?? 0;
    const own = { ...scenario, checkpoint };
    for (const range of [
      { begin: 0, end },
      { begin: 0, end: cuts[10] ?? end },
      { begin: middle, end },
    ]) {
      const stage = stageTraining(worker, range);
      expect(stage.folded).toBeDefined();
      const [short, whole] = [planStep(stage, own, cluster), planStep(unfolded(stage), own, cluster)];
      expect(short.folded).toBeDefined();
      expect(short.times).toEqual(whole.times);
      expect(short.saved).toEqual(whole.saved);
      const [memory, known] = [memoryOf(short), memoryOf(whole)];
      expect(memory.peak).toBe(known.peak);
      expect(memory.activations).toBe(known.activations);
      expect(reservedMemory(short, memory.peak).bounds).toEqual(reservedMemory(whole, known.peak).bounds);
    }
  });
});
