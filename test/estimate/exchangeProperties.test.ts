/** What holds of a step whatever framework runs it, wherever. */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { TrainingGraph } from '../../server/src/analysis/modelAnalysis.ts';
import { estimateStep } from '../../server/src/estimate/estimateStep.ts';
import { planStep } from '../../server/src/estimate/plan/planStep.ts';
import { frameworks } from '../../server/src/frameworks/registry.ts';
import type { ClusterProfile } from '../../server/src/hardware/clusterProfile.ts';
import { findCluster } from '../../server/src/hardware/clusters.ts';
import type { Scenario } from '../../server/src/model/scenario.ts';
import type { StepCost } from '../../server/src/model/stepCost.ts';
import { type BytesPerSecond, bytesPerSecond } from '../../server/src/model/units.ts';
import { type ChainLayer, chain } from '../support/trainingGraph.ts';

function cluster(name: string): ClusterProfile {
  const found = findCluster(name);
  if (found === undefined) throw new Error(name);
  return found;
}

/** The same cluster with links and network of so many times the bandwidth. */
function faster(profile: ClusterProfile, factor: number): ClusterProfile {
  const scaled = <Entry extends { readonly value: BytesPerSecond }>(entry: Entry): Entry => ({
    ...entry,
    value: bytesPerSecond(entry.value * factor),
  });
  const { link, network, gpu } = profile;
  return {
    ...profile,
    gpu: { ...gpu, hostLink: gpu.hostLink && scaled(gpu.hostLink) },
    link: link && {
      ...link,
      busBandwidth: scaled(link.busBandwidth),
      groups: link.groups && { ...link.groups, acrossBandwidth: scaled(link.groups.acrossBandwidth) },
      inSwitchReduction: link.inSwitchReduction && scaled(link.inSwitchReduction),
    },
    network: network && { ...network, nodeBandwidth: scaled(network.nodeBandwidth) },
  };
}

const layer = fc.record({
  flops: fc.integer({ min: 1e6, max: 1e11 }),
  parameters: fc.integer({ min: 10, max: 2e7 }),
  output: fc.integer({ min: 100, max: 1e6 }),
});
const layers = fc.array(layer, { minLength: 1, maxLength: 12 });
const places = fc.constantFrom(
  { name: 'k80-10gbe', nodes: 4, gpus: 16 },
  { name: 'dgx-1-v100', nodes: 1, gpus: 8 },
  { name: 'v100-infiniband', nodes: 8, gpus: 32 },
  { name: 'dgx-h100', nodes: 16, gpus: 128 },
);
type Drawn = { readonly flops: number; readonly parameters: number; readonly output: number };
const modelOf = (drawn: readonly Drawn[]) =>
  chain(
    drawn.map(
      (one, index): ChainLayer => ({ name: `layer${index}`, class: 'matmul', type: 'MatMul', ...one }),
    ),
    8,
  );

const longestMessage = ({ messages = [] }: StepCost): number =>
  Math.max(0, ...messages.map(({ time }) => time));

/** Whether gradients go in other messages: MG-WFBP merges by the links there are, once, and may choose worse. */
const mergesOtherwise = ({ messages: one = [] }: StepCost, { messages: other = [] }: StepCost): boolean =>
  one.map(({ bytes }) => bytes).join() !== other.map(({ bytes }) => bytes).join();

function ranksMessages(model: TrainingGraph, scenario: Scenario, profile: ClusterProfile): boolean {
  return planStep(model, scenario, profile).traffic.channels.some(({ order }) => order === 'by priority');
}

describe.each(frameworks.map(({ name, oneNode }) => [name, oneNode === true] as const))(
  '%s',
  (name, oneNode) => {
    const scenarioOn = (place: {
      readonly name: string;
      readonly nodes: number;
      readonly gpus: number;
    }): Scenario => ({
      cluster: place.name,
      nodes: oneNode ? 1 : place.nodes,
      gpus: oneNode ? place.gpus / place.nodes : place.gpus,
      batchPerGpu: 8,
      dimensions: {},
      precision: 'fp32',
      optimizer: 'momentum',
      framework: { name, options: {} },
      mode: 'training',
    });

    test('parts add up to the step; no more is exposed than sent; what is exposed has nothing to spare', () => {
      fc.assert(
        fc.property(layers, places, (drawn, place) => {
          const { totals, messages = [] } = estimateStep(
            modelOf(drawn),
            scenarioOn(place),
            cluster(place.name),
          );
          const { time } = totals;
          const parts = [time.forward, time.backward, time.update, time.exposedCommunication];
          const all = parts.reduce<number>((sum, part) => sum + (part ?? Number.NaN), 0);
          expect(all / (time.step ?? 0)).toBeCloseTo(1, 9);
          expect(time.exposedCommunication).toBeLessThanOrEqual(
            (time.communication ?? 0) * (1 + 1e-9) + 1e-12,
          );
          for (const message of messages) {
            expect(message.exposed).toBeLessThanOrEqual((time.communication ?? 0) * (1 + 1e-9));
            expect(message.slack).toBeGreaterThanOrEqual(0);
          }
        }),
        { numRuns: 15 },
      );
    });

    test('more bandwidth never costs time', () => {
      const factor = fc.double({ min: 1, max: 20, noNaN: true });
      fc.assert(
        fc.property(layers, places, factor, (drawn, place, by) => {
          const [model, scenario, slow] = [modelOf(drawn), scenarioOn(place), cluster(place.name)];
          const before = estimateStep(model, scenario, slow);
          const after = estimateStep(model, scenario, faster(slow, by));
          // By priority, what becomes ready earlier can start before what is more urgent, and is not interrupted.
          const isAnomalous = ranksMessages(model, scenario, slow) || mergesOtherwise(before, after);
          const inTheWay = isAnomalous ? longestMessage(before) : 0;
          const stepBefore = before.totals.time.step ?? Number.NaN;
          expect(after.totals.time.step).toBeLessThanOrEqual(stepBefore * (1 + 1e-6) + inTheWay);
        }),
        { numRuns: 15 },
      );
    });

    test('fewer bytes never cost time', () => {
      fc.assert(
        fc.property(layers, places, (drawn, place) => {
          const [scenario, profile] = [scenarioOn(place), cluster(place.name)];
          // Twice the bytes and once, exactly: where messages keep their shares of all, so do their parts of the update.
          const times = (factor: number) =>
            modelOf(drawn.map((one) => ({ ...one, parameters: one.parameters * factor })));
          const costOf = (factor: number): StepCost => estimateStep(times(factor), scenario, profile);
          const before = costOf(2);
          const after = costOf(1).totals.time.step ?? 0;
          // What a round of Horovod finds goes together, and it finds less where the GPU is earlier and the host no further ahead.
          const isInTheWay = name === 'horovod' || ranksMessages(times(2), scenario, profile);
          const inTheWay = isInTheWay ? longestMessage(before) : 0;
          expect(after).toBeLessThanOrEqual((before.totals.time.step ?? 0) * (1 + 1e-6) + inTheWay);
        }),
        { numRuns: 15 },
      );
    });
  },
);
