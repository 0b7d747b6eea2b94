/** What is said of a pipeline that waits: the message by times that are given, the advice by what the advised layout takes. */

import { describe, expect, test } from 'vitest';
import { openLayerSpec } from '../../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../../server/src/estimate/estimateModel.ts';
import { bubbleOf, type LaidOutStep, layOutStep } from '../../../server/src/estimate/parallel/laidOutStep.ts';
import { pipelineFindings } from '../../../server/src/estimate/parallel/pipelineFindings.ts';
import { formatPercent } from '../../../server/src/model/format.ts';
import type { ParallelScenario, ScenarioRequest } from '../../../server/src/model/scenario.ts';
import { seconds } from '../../../server/src/model/units.ts';

const opened = openLayerSpec(
  `
inputs: { x: "float32[batch, 128, 256]" }
blocks:
  part:
    - norm: LayerNorm(256)
    - up: Linear(1024)
    - act: GELU()
    - down: Linear(256)
    - res: add(down, input)
layers:
  - h: part() * 8
`,
  'm.layers.yaml',
);

const asked: ScenarioRequest = { cluster: 'dgx-h100', gpus: 8, batch: 2, accumulate: 8, precision: 'bf16' };
function laidOut(
  request: ScenarioRequest = {},
  parallel: Partial<ParallelScenario> = { pipeline: 4 },
): LaidOutStep {
  const { training, scenario, cluster, issues } = estimateModel(opened, [{ parallel, ...request }, asked]);
  if (training === undefined || scenario?.parallel === undefined || cluster === undefined)
    throw new Error(JSON.stringify(issues));
  const step = layOutStep(training, scenario, scenario.parallel, cluster);
  if (step === undefined) throw new Error('not laid out');
  return step;
}

/** The rank that ends last waits for `bubble` of a step of `step` seconds; ranks compute for `works`. */
function lasting(
  { times, ...step }: LaidOutStep,
  {
    step: time,
    bubble,
    works = [1, 1, 1, 1],
  }: { readonly step: number; readonly bubble: number; readonly works?: readonly number[] },
): LaidOutStep {
  const count = times.ranks.length;
  return {
    ...step,
    times: {
      ...times,
      step: seconds(time),
      slowest: count - 1,
      ranks: times.ranks.map((rank, index) => ({
        ...rank,
        forward: seconds((works[index] ?? 0) / 4),
        backward: seconds((3 * (works[index] ?? 0)) / 4),
      })),
      timeline: {
        ...times.timeline,
        ends: new Float64Array(count).fill(time),
        busy: new Float64Array(count).fill((1 - bubble) * time),
      },
    },
  };
}

const said = (step: LaidOutStep) => pipelineFindings(step).map(({ code, message }) => `${code}: ${message}`);
const thresholds = { 'pipeline-bubble': 0.25, 'uneven-stages': 0.5 };
const usual = laidOut({ thresholds });

describe('a bubble', () => {
  test('is said with its share and its time', () => {
    expect(said(lasting(usual, { step: 1, bubble: 0.5 }))).toEqual([
      'findings/pipeline-bubble: For 50 % of the step (500 ms) the last of 4 pipeline stages waits for others. A step has 8 micro-batches',
    ]);
  });

  test('is none below its limit', () => {
    expect(said(lasting(usual, { step: 1, bubble: 0.25 }))).toHaveLength(1);
    expect(said(lasting(usual, { step: 1, bubble: 0.24 }))).toEqual([]);
  });

  test.each([
    [1, '1 micro-batch, fewer than stages'],
    [3, '3 micro-batches, fewer than stages'],
    [4, '4 micro-batches'],
  ])('of %i passes', (accumulate, text) => {
    const [message] = said(lasting(laidOut({ thresholds, accumulate }), { step: 1, bubble: 0.5 }));
    expect(message?.endsWith(` A step has ${text}`)).toBe(true);
  });

  test('of uneven stages says which is the longest, instead of a finding of its own', () => {
    // 3 over a mean of 1.5.
    expect(said(lasting(usual, { step: 1, bubble: 0.5, works: [1, 1, 3, 1] }))).toEqual([
      'findings/pipeline-bubble: For 50 % of the step (500 ms) the last of 4 pipeline stages waits for others. A step has 8 micro-batches. Stage 3 takes 100 % longer than the mean of the stages',
    ]);
    // 1.7 over 1.175 is less than half longer.
    expect(said(lasting(usual, { step: 1, bubble: 0.5, works: [1, 1, 1.7, 1] }))[0]).toMatch(
      /8 micro-batches$/,
    );
  });
});

describe('uneven stages', () => {
  test('are said where the bubble is small', () => {
    expect(said(lasting(usual, { step: 1, bubble: 0, works: [3, 1, 1, 1] }))).toEqual([
      'findings/uneven-stages: Stage 1 of 4 takes 100 % longer than the mean of the stages. The others wait for it in each of 8 micro-batches',
    ]);
  });

  test('are none below their limit', () => {
    // 9 over a mean of 6 is half longer.
    expect(said(lasting(usual, { step: 1, bubble: 0, works: [5, 5, 9, 5] }))).toHaveLength(1);
    expect(said(lasting(usual, { step: 1, bubble: 0, works: [5, 5, 8.9, 5] }))).toEqual([]);
  });
});

describe('advice', () => {
  const fixOf = (step: LaidOutStep) => pipelineFindings(step)[0]?.fix ?? '';

  test('where all layouts are faster names the fastest of each kind, with what it takes', () => {
    const fix = fixOf(
      lasting(laidOut({ thresholds }, { pipeline: 4, stages: 'uniform' }), { step: 1, bubble: 0.5 }),
    );
    const time = '\\S+ [µm]s';
    expect(fix).toMatch(
      new RegExp(
        `^Cut into stages of like time \\(\`stages=balanced\`\\), which takes ${time} a step; or use 16 micro-batches of 1 \\(\`batch=1\`, \`accumulate=16\`\\), which takes ${time} a step of as many samples instead of 1\\.00 s; or use .*(vp=2,schedule=interleaved-1f1b|schedule=zb-h1)\`\\), which takes ${time} a step instead of 1\\.00 s; or use 2 stages \\(\`pp=2\`\\), which takes ${time} a step of as many samples$`,
      ),
    );
  });

  test('to cut evenly is none where stages are', () => {
    expect(fixOf(lasting(usual, { step: 1, bubble: 0.5 }))).not.toContain('stages=balanced');
  });

  test('where none is faster tells how many passes leave less than the limit', () => {
    const fix = fixOf(lasting(usual, { step: 1e-9, bubble: 0.5 }));
    const [, passes, share] =
      /^Use more samples in a step: (\d+) micro-batches of this size leave (\S+ %)$/.exec(fix) ?? [];
    const shareAt = (accumulate: number): number => {
      const step = laidOut({ thresholds, accumulate });
      return bubbleOf(step) / step.times.step;
    };
    expect(formatPercent(shareAt(Number(passes)))).toBe(share);
    expect(shareAt(Number(passes))).toBeLessThan(0.25);
    if (Number(passes) > 16) expect(shareAt(Number(passes) / 2)).toBeGreaterThanOrEqual(0.25);
  });

  test('of uneven stages that no layout helps', () => {
    expect(fixOf(lasting(usual, { step: 1e-9, bubble: 0, works: [3, 1, 1, 1] }))).toBe(
      'Give that stage fewer blocks (`stages`), or split its largest layer (`tp`)',
    );
  });

  test('schedules of several stages are given no other one', () => {
    const interleaved = laidOut({ thresholds }, { pipeline: 4, chunks: 2 });
    expect(fixOf(lasting(interleaved, { step: 1, bubble: 0.5 }))).not.toMatch(/schedule=|vp=/);
    const first = laidOut({ thresholds }, { pipeline: 4, schedule: 'gpipe' });
    expect(fixOf(lasting(first, { step: 1, bubble: 0.5 }))).toMatch(/schedule=/);
  });
});

describe('copies that share gradients in each pass', () => {
  const findingOf = (name: string, options = {}, request: ScenarioRequest = {}) =>
    pipelineFindings(
      lasting(laidOut({ framework: { name, options }, thresholds, ...request }), { step: 1, bubble: 0 }),
    ).map(({ code, message, fix }) => [code, message, fix]);
  const takes = expect.stringMatching(
    /^Share the optimizer state alone \(`deepspeed-zero,stage=1`\), which takes \S+ [µm]s a step instead of 1\.00 s$/,
  );

  test.each([
    ['pytorch-fsdp', {}, 'gather their weights and scatter gradients in each of 8 micro-batches'],
    [
      'deepspeed-zero',
      { stage: '2' },
      'scatter gradients in each of 8 micro-batches. DeepSpeed runs no pipeline with ZeRO 2 and 3',
    ],
    [
      'deepspeed-zero',
      { stage: '3' },
      'gather their weights and scatter gradients in each of 8 micro-batches. DeepSpeed runs no pipeline with ZeRO 2 and 3',
    ],
  ])('%s %j', (name, options, text) => {
    expect(findingOf(name, options)).toEqual([
      ['findings/sharded-pipeline', `With \`${name}\` copies of a stage ${text}`, takes],
    ]);
  });

  test('is none of one pass, or of whole gradients', () => {
    expect(findingOf('pytorch-fsdp', {}, { accumulate: 1 })).toEqual([]);
    expect(findingOf('deepspeed-zero', { stage: '1' })).toEqual([]);
    expect(findingOf('pytorch-ddp')).toEqual([]);
  });
});

test('one stage waits for none', () => {
  const whole = laidOut({ thresholds }, { tensor: 2 });
  expect(pipelineFindings(lasting(whole, { step: 1, bubble: 0.5, works: [3] }))).toEqual([]);
});

describe('more micro-batches', () => {
  const shareOf = (accumulate: number): number => {
    const step = laidOut({ accumulate, batch: 1 });
    return bubbleOf(step) / step.times.step;
  };

  // Samples of a micro-batch cannot be halved: there are twice, four times as many, up to 256 or four times those there are.
  test.each([
    [4, 0.5],
    [4, 0.3],
    [4, 0.1],
    [4, 0.001],
    [64, 0.018],
    [128, 0.01],
    [128, 0.001],
  ])('than %i are as few as leave less than %f of the step', (accumulate, threshold) => {
    const step = laidOut({ thresholds: { 'pipeline-bubble': threshold }, accumulate, batch: 1 });
    const [finding] = pipelineFindings(lasting(step, { step: step.times.step, bubble: 0.9 }));
    const tried = [8, 16, 32, 64, 128, 256, 512].filter((each) => each > accumulate);
    const most = Math.max(256, 4 * accumulate);
    const passes = tried.filter((each) => each <= most).find((each) => shareOf(each) < threshold);
    if (passes === undefined) return expect(finding?.fix).not.toContain('more samples in a step');
    expect(finding?.fix).toContain(
      `se more samples in a step: ${passes} micro-batches of this size leave ${formatPercent(shareOf(passes))}`,
    );
  });
});
