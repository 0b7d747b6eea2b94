/** What is said of a layout that waits or leaves layers whole: the message by times that are given, to the word. */

import { describe, expect, test } from 'vitest';
import { openLayerSpec } from '../../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../../server/src/estimate/estimateModel.ts';
import { type LaidOutStep, layOutStep } from '../../../server/src/estimate/parallel/laidOutStep.ts';
import { layoutFindings } from '../../../server/src/estimate/parallel/layoutFindings.ts';
import { passesOf } from '../../../server/src/estimate/plan/stepPlan.ts';
import { formatPercent } from '../../../server/src/model/format.ts';
import type { ParallelRequest, ScenarioRequest } from '../../../server/src/model/scenario.ts';
import { seconds } from '../../../server/src/model/units.ts';

const blocks = `
inputs: { x: "float32[batch, 512, 256]" }
layers:
  - h: TransformerEncoderLayer(256, 16, dim_feedforward=1024, batch_first=True)
`;

function laidOut(parallel: ParallelRequest, request: ScenarioRequest = {}, spec = blocks): LaidOutStep {
  const { training, scenario, cluster, issues } = estimateModel(openLayerSpec(spec, 'm.layers.yaml'), [
    { cluster: 'a3-highgpu-8g', gpus: 16, batch: 4, accumulate: 4, precision: 'bf16', ...request, parallel },
  ]);
  if (training === undefined || scenario?.parallel === undefined || cluster === undefined)
    throw new Error(JSON.stringify(issues));
  const step = layOutStep(training, scenario, scenario.parallel, cluster);
  if (step === undefined) throw new Error('not laid out');
  return step;
}

/** The step takes `time` seconds, and the collectives of an axis `waits` of them in its only stage. */
function waiting(step: LaidOutStep, axis: 'tensor' | 'context', time: number, waits: number): LaidOutStep {
  const stages = step.plan.stages.map((stage) => {
    const first = stage.collectives.findIndex((each) => each.axis === axis);
    const own = seconds(waits / passesOf(stage.plan.scenario));
    return {
      ...stage,
      collectives: stage.collectives.map((each, index) => ({
        ...each,
        time: index === first ? own : seconds(0),
      })),
    };
  });
  return { ...step, plan: { ...step.plan, stages }, times: { ...step.times, step: seconds(time) } };
}

const found = (step: LaidOutStep, code: string) =>
  layoutFindings(step, true).find((each) => each.code === `findings/${code}`);

describe.each([
  ['tensor', { tensor: 4 }, 'Collectives of tensor parallelism take'],
  [
    'context',
    { context: 4, contextExchange: 'ring' },
    'Attention hides only a part of what the ring sends: the rest takes',
  ],
  [
    'context',
    { context: 4, contextExchange: 'all-gather' },
    'Collectives of context parallelism (all-gather) take',
  ],
] as const)('exchanges of %s parallelism, %o', (axis, parallel, subject) => {
  const code = `${axis}-communication`;
  const thresholds = { [code]: 0.25 };

  test('are said from their threshold on, with their share and time', () => {
    const step = laidOut(parallel, { thresholds });
    expect(found(waiting(step, axis, 1, 0.25), code)?.message).toBe(
      `${subject} 25 % of the step (250 ms), and nothing computes meanwhile`,
    );
    expect(found(waiting(step, axis, 1, 0.2499), code)).toBeUndefined();
  });

  test('need no cost that is unknown', () => {
    const step = waiting(laidOut(parallel, { thresholds }), axis, 1, 0.5);
    expect(layoutFindings(step, false).map((each) => each.code)).not.toContain(`findings/${code}`);
  });

  test('are said to cross nodes where a group does', () => {
    const wide = laidOut(axis === 'tensor' ? { tensor: 16 } : { ...parallel, context: 16 }, { thresholds });
    expect(found(waiting(wide, axis, 1, 0.5), code)?.message).toBe(
      `${subject} 50 % of the step (500 ms), and nothing computes meanwhile. The 16 GPUs of a group lie on 2 nodes of 8`,
    );
  });

  test('have no advice where nothing is faster', () => {
    const step = waiting(laidOut(parallel, { thresholds }), axis, 1e-9, 0.5e-9);
    expect(found(step, code)?.fix).toMatch(
      /^No smaller group that fits in memory is faster(, nor another exchange)?: use faster links between the GPUs of a group$/,
    );
  });

  test('have one where another is', () => {
    const step = waiting(laidOut(parallel, { thresholds }), axis, 1, 0.5);
    expect(found(step, code)?.fix).toMatch(
      /^(Use `.*`|Leave `cp` out), which takes .* a step of as many samples instead of 1\.00 s$/,
    );
  });
});

describe('the option for collectives beside products', () => {
  const framework = (options: Readonly<Record<string, string>>) => ({
    framework: { name: 'megatron', options },
  });
  const fixOf = (step: LaidOutStep, time: number): string =>
    found(waiting(step, 'tensor', time, time / 2), 'tensor-communication')?.fix ?? expect.fail();

  test.each([
    ['is advised with `sp` where sequences are whole', {}, false, / of `megatron` with `sp`, which takes/],
    ['is advised alone where they are split', {}, true, / of `megatron`, which takes/],
  ])('%s', (_, options, sequence, text) => {
    expect(fixOf(laidOut({ tensor: 4, sequence }, framework(options)), 1)).toMatch(text);
  });

  test('is not advised where it is on, nor where a step is no shorter with it', () => {
    const on = laidOut({ tensor: 4, sequence: true }, framework({ 'tp-comm-overlap': 'true' }));
    expect(fixOf(on, 1)).not.toContain('tp-comm-overlap');
    expect(fixOf(laidOut({ tensor: 4 }, framework({})), 1e-9)).toBe(
      'No smaller group that fits in memory is faster: use faster links between the GPUs of a group',
    );
  });
});

/** Of two pairs of products, of 64 × 64 and 64 × `width`, one is as wide as that: `width` / 2 (64 + `width`) of the FLOPs. */
describe('layers that stay whole', () => {
  const share = (width: number): number => width / (2 * (64 + width));
  const of = (tensor: number, width: number, threshold = 0.05) => {
    const spec = `
inputs: { x: "float32[batch, 64]" }
layers:
  - a: Linear(64)
  - b: ReLU()
  - c: Linear(64)
  - d: Linear(${width})
  - e: ReLU()
  - f: Linear(64)
`;
    const request = { batch: 64, thresholds: { 'unsplit-layers': threshold } };
    return found(laidOut({ tensor }, request, spec), 'unsplit-layers');
  };

  test.each([
    // 66 divides by 2.
    [4, 66, 'Use `tp=2`, which splits them, or sizes that divide by 4'],
    [8, 66, 'Use `tp=2`, which splits them, or sizes that divide by 8'],
    // 68 divides by 4 and 2: the larger is advised.
    [8, 68, 'Use `tp=4`, which splits them, or sizes that divide by 8'],
    // 65 divides by neither, and a group of one splits nothing.
    [4, 65, 'Choose sizes that divide by the degree: heads, channels, or classes that are padded'],
    [2, 65, 'Choose sizes that divide by the degree: heads, channels, or classes that are padded'],
    // Nor is a degree advised that is an eighth.
    [16, 66, 'Choose sizes that divide by the degree: heads, channels, or classes that are padded'],
  ])('of a group of %i, where one is %i wide, are advised so', (tensor, width, fix) => {
    expect(of(tensor, width)).toMatchObject({
      severity: 'information',
      layer: 'd',
      message: `${formatPercent(share(width))} of the FLOPs of forward are computed whole by each of the ${tensor} GPUs of a group. This is \`d\` (${width} does not divide by ${tensor})`,
      fix,
    });
  });

  test('are said from their threshold on', () => {
    expect(of(4, 66, share(66) - 1e-6)).toBeDefined();
    expect(of(4, 66, share(66) + 1e-6)).toBeUndefined();
    expect(of(4, 64)).toBeUndefined();
  });
});
