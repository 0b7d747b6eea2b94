/** What was asked of a layout, as it is costed, and all that is said of it, word for word. No step is costed here. */

import { describe, expect, test } from 'vitest';
import type { ModelAnalysis } from '../../../server/src/analysis/modelAnalysis.ts';
import { openLayerSpec } from '../../../server/src/analysis/openModel.ts';
import {
  refusedByFramework,
  resolveParallel,
  sequenceProblem,
  unevenRounds,
} from '../../../server/src/estimate/parallel/resolveParallel.ts';
import { readFrameworkDescription } from '../../../server/src/formats/framework/readFrameworkDescription.ts';
import type {
  FrameworkChoice,
  Mode,
  ParallelRequest,
  ParallelScenario,
  ScenarioRequest,
} from '../../../server/src/model/scenario.ts';
import { seconds } from '../../../server/src/model/units.ts';

function analysisOf(text: string): ModelAnalysis {
  const { analysis } = openLayerSpec(text, 'm.layers.yaml');
  if (analysis === undefined) throw new Error('the spec cannot be read');
  return analysis;
}

/** 6 blocks of 6 heads and 12 experts. */
const experts = analysisOf(`
dims: { seq: 96, d: 48 }
inputs:
  tokens: int64[batch, seq]
blocks:
  decoder:
    - norm: RMSNorm(d)
    - attn: MultiheadAttention(d, 6, bias=False, causal=True)
    - res: add(attn, input)
    - experts: MixtureOfExperts(d, 32, num_experts=12, top_k=2, gated=True)
    - res2: add(experts, res)
layers:
  - embed: Embedding(100, d)
  - h: decoder() * 6
  - head: Linear(d, 100)
`);
/** Neither blocks, nor experts, nor sequences. */
const flat = analysisOf(
  'inputs: { x: "float32[batch, 8]" }\nlayers:\n  - first: Linear(8, 8)\n  - last: Linear(8, 4)\n',
);

const named = (name: string, options: Record<string, string> = {}): ScenarioRequest => ({
  framework: { name, options },
});

function described(name: string): FrameworkChoice {
  const { description } = readFrameworkDescription(`name: ${name}\n`);
  if (description === undefined) throw new Error('the description cannot be read');
  return { name, options: {}, description };
}

interface Asked {
  readonly analysis?: ModelAnalysis;
  readonly gpus?: number;
  readonly mode?: Mode;
  readonly requests?: readonly ScenarioRequest[];
}

const resolve = (
  asked: ParallelRequest | undefined,
  { analysis = experts, gpus = 24, mode = 'training', requests = [] }: Asked = {},
) => {
  const { issues, ...resolved } = resolveParallel(asked, analysis, gpus, mode, requests);
  return { ...resolved, said: issues.map(({ severity, message }) => `${severity}: ${message}`), issues };
};

const one: ParallelScenario = {
  tensor: 1,
  sequence: false,
  gathered: 'keep',
  context: 1,
  contextExchange: 'all-gather',
  expert: 1,
  expertImbalance: 1,
  pipeline: 1,
  chunks: 1,
  schedule: '1f1b',
  stages: 'balanced',
};

const costed: readonly (readonly [ParallelRequest, number, Partial<ParallelScenario>, Asked?])[] = [
  [{ tensor: 2 }, 2, { tensor: 2 }],
  [{ tensor: 2, sequence: true }, 2, { tensor: 2, sequence: true }],
  [{ context: 2 }, 2, { context: 2 }],
  [{ context: 2, contextExchange: 'ring' }, 2, { context: 2, contextExchange: 'ring' }],
  [{ expert: 4 }, 1, { expert: 4 }],
  [{ expert: 4, expertImbalance: 1.5 }, 1, { expert: 4, expertImbalance: 1.5 }],
  [{ tensor: 2, gathered: 'again' }, 2, { tensor: 2, gathered: 'again' }],
  [{ pipeline: 3 }, 3, { pipeline: 3 }],
  [{ tensor: 2, context: 2, pipeline: 3 }, 12, { tensor: 2, context: 2, pipeline: 3 }],
  // A schedule follows from stages of a rank, and stages of a rank from a schedule (torchtitan's).
  [{ pipeline: 3, chunks: 2 }, 3, { pipeline: 3, chunks: 2, schedule: 'interleaved-1f1b' }],
  [{ pipeline: 3, chunks: 1 }, 3, { pipeline: 3 }],
  [
    { pipeline: 3, schedule: 'interleaved-1f1b' },
    3,
    { pipeline: 3, chunks: 2, schedule: 'interleaved-1f1b' },
  ],
  [{ pipeline: 3, schedule: 'zb-v' }, 3, { pipeline: 3, chunks: 2, schedule: 'zb-v' }],
  [{ pipeline: 3, schedule: 'gpipe' }, 3, { pipeline: 3, schedule: 'gpipe' }],
  [{ pipeline: 3, chunks: 2, schedule: 'zb-h1' }, 3, { pipeline: 3, chunks: 2, schedule: 'zb-h1' }],
  [{ tensor: 2, schedule: 'gpipe' }, 2, { tensor: 2, schedule: 'gpipe' }],
  // As many blocks as stages, and no more.
  [{ pipeline: 6 }, 6, { pipeline: 6 }],
  [{ pipeline: 2, stages: [4, 2] }, 2, { pipeline: 2, stages: [4, 2] }],
  [{ pipeline: 2, stages: ['h[4]'] }, 2, { pipeline: 2, stages: [4, 2] }],
  // The embedding and the head count as a block each.
  [{ pipeline: 8, stages: 'torchtitan' }, 8, { pipeline: 8, stages: 'torchtitan' }],
  // torchtitan/config/job_config.py: sequence parallelism beside tensor parallelism, which is nothing without it.
  [
    { tensor: 2 },
    2,
    { tensor: 2, sequence: true, stages: 'torchtitan' },
    { requests: [named('torchtitan')] },
  ],
  [{ pipeline: 2 }, 2, { pipeline: 2, stages: 'torchtitan' }, { requests: [named('torchtitan')] }],
  [
    { tensor: 2, sequence: false },
    2,
    { tensor: 2, stages: 'torchtitan' },
    { requests: [named('torchtitan')] },
  ],
  // The first request that names a framework decides.
  [
    { context: 2 },
    2,
    { context: 2, contextExchange: 'all-to-all' },
    { requests: [{ batch: 1 }, named('deepspeed-zero'), named('torchtitan')] },
  ],
  // 24 GPUs ÷ tp 2 share 6 groups of experts that span those of tp: 12 % (4 ÷ 2) = 0.
  [{ tensor: 2, sequence: true, expert: 4 }, 2, { tensor: 2, sequence: true, expert: 4 }],
  // 6 GPUs with a part of the batch hold 12 experts in groups that span both of tp.
  [{ tensor: 4, sequence: true, expert: 12 }, 4, { tensor: 4, sequence: true, expert: 12 }],
  [{ pipeline: 2, expert: 12 }, 2, { pipeline: 2, expert: 12 }],
];

test.each(costed.map(([asked, ways, parallel, rest]) => ({ asked, ways, parallel, rest })))(
  '$asked is costed on $ways GPUs of a copy, and nothing is said',
  ({ asked, ways, parallel, rest }) => {
    const { issues: _, ...resolved } = resolve(asked, rest);
    expect(resolved).toEqual({ parallel: { ...one, ...parallel }, ways, said: [] });
  },
);

test.each<readonly [ParallelRequest | undefined, Partial<ReturnType<typeof resolve>>]>([
  [undefined, { ways: 1, said: [] }],
  [{}, { ways: 1, said: [] }],
  [
    { tensor: 1, pipeline: 1, sequence: true, chunks: 4 },
    { ways: 1, said: [] },
  ],
  [{ microBatch: 2 }, { ways: 1, microBatch: 2, said: [] }],
  [
    { expertImbalance: 2 },
    { ways: 1, said: ['warning: `expert-imbalance` has no effect without `ep`; set `ep` to 2 or more'] },
  ],
])('%o leaves a copy on each GPU', (asked, expected) => {
  const { issues: _, ...resolved } = resolve(asked);
  expect(resolved).toEqual(expected);
});

test.each<readonly [ParallelRequest, readonly string[]]>([
  [{ pipeline: 2, sequence: true }, ['warning: `sp` has no effect without `tp`; set `tp` to 2 or more']],
  [{ pipeline: 2, sequence: false }, []],
  [{ tensor: 2, chunks: 2 }, ['warning: `vp` has no effect without `pp`; set `pp` to 2 or more']],
  [
    { tensor: 2, expertImbalance: 2 },
    ['warning: `expert-imbalance` has no effect without `ep`; set `ep` to 2 or more'],
  ],
  [
    { pipeline: 3, expert: 4, schedule: 'dualpipe-v' },
    [
      'information: DualPipeV hides all-to-alls of experts behind the other pass; they are costed as exposed, so that the step may be shorter. Compare it with `schedule=zb-v`',
    ],
  ],
  [{ pipeline: 3, schedule: 'dualpipe-v' }, []],
  [{ expert: 4, schedule: 'dualpipe-v' }, []],
  [{ pipeline: 3, expert: 4, schedule: 'zb-v' }, []],
])('%o is costed, and what has no effect is said', (asked, said) => {
  const resolved = resolve({ ...asked, microBatch: 2 });
  expect(resolved.said).toEqual(said);
  expect([resolved.parallel?.pipeline, resolved.microBatch]).toEqual([asked.pipeline ?? 1, 2]);
  for (const { code, scenarioKey } of resolved.issues)
    expect([code, scenarioKey]).toEqual(['scenario/invalid', 'parallel']);
});

const fp32WithTitan =
  'warning: torchtitan computes in fp32 where nothing is sharded: its mixed precision is that of FSDP, and one copy has none; set `precision: fp32`, or use more GPUs';

test.each<readonly [ScenarioRequest, readonly string[]]>([
  [{}, [fp32WithTitan]],
  [{ precision: 'bf16' }, [fp32WithTitan]],
  [{ precision: 'fp32' }, []],
  [{ precision: 'tf32' }, []],
])('torchtitan with one copy, %o', (request, said) => {
  const requests = [{ batch: 1 }, { ...named('torchtitan'), ...request }, { precision: 'bf16' as const }];
  expect(resolve({ tensor: 2 }, { gpus: 2, requests }).said).toEqual(said);
  expect(resolve({ tensor: 2 }, { gpus: 4, requests }).said).toEqual([]);
});

const notCosted = (name: string): string =>
  `\`${name}\` is not costed with \`parallel\`; use pytorch-ddp, pytorch-fsdp, deepspeed-zero, megatron, torchtitan`;

describe('what is refused', () => {
  const refused: readonly (readonly [ParallelRequest, string, Asked?])[] = [
    [
      { tensor: 5 },
      '24 GPUs do not divide into groups of 5 (tp 5 × pp 1); use a multiple of 5 GPUs, or other degrees',
    ],
    [
      { tensor: 5, context: 2, pipeline: 3 },
      '24 GPUs do not divide into groups of 30 (tp 5 × cp 2 × pp 3); use a multiple of 30 GPUs, or other degrees',
    ],
    [
      { expert: 4 },
      'The model has no mixture of experts whose weights lie in one tensor [experts, …]; leave `ep` out, or describe it with `MixtureOfExperts`',
      { analysis: flat },
    ],
    [{ expert: 5 }, '12 experts do not divide over `ep=5`; leave `ep` out, or use a divisor'],
    [{ expert: 8 }, '12 experts do not divide over `ep=8`; use a divisor, such as `ep=4`'],
    [
      { expert: 4, context: 3 },
      '9 GPUs with a part of the batch (9 ÷ tp 1 ÷ pp 1, cp 3 among them) do not divide into groups of `ep=4`; leave `ep` out, or use a divisor',
      { gpus: 9 },
    ],
    [
      { expert: 4, pipeline: 2 },
      '6 GPUs with a part of the batch (12 ÷ tp 1 ÷ pp 2) do not divide into groups of `ep=4`; use a divisor, such as `ep=2`',
      { gpus: 12 },
    ],
    [
      { expert: 4, tensor: 2 },
      '6 GPUs with a part of the batch (12 ÷ tp 2 ÷ pp 1) do not divide into groups of `ep=4`; use a divisor, such as `ep=2`, or `sp`, with which groups of experts span those of `tp`',
      { gpus: 12 },
    ],
    [
      // With `sp`, groups of 12 ÷ 2 do not divide 8 either.
      { expert: 12, tensor: 2 },
      '8 GPUs with a part of the batch (16 ÷ tp 2 ÷ pp 1) do not divide into groups of `ep=12`; use a divisor, such as `ep=4`',
      { gpus: 16 },
    ],
    [
      // 3 does not hold whole groups of `tp`, so that `sp` changes nothing.
      { expert: 3, tensor: 2 },
      '8 GPUs with a part of the batch (16 ÷ tp 2 ÷ pp 1) do not divide into groups of `ep=3`; leave `ep` out, or use a divisor',
      { gpus: 16 },
    ],
    [{ tensor: 2 }, '`parallel` is costed in training; leave it out in inference', { mode: 'inference' }],
    [
      { tensor: 2 },
      'A measured step is that of a GPU with a copy of the model; leave out `measured-step` or `parallel`',
      { requests: [{}, { measuredStep: seconds(1) }] },
    ],
    [
      { tensor: 2 },
      '`input` is not costed with `parallel`; leave one of them out',
      { requests: [{ input: {} }] },
    ],
    [
      { tensor: 2 },
      '`workers` is not costed with `parallel`; leave one of them out',
      { requests: [{ workers: {} }] },
    ],
    [{ tensor: 2 }, notCosted('horovod'), { requests: [named('horovod')] }],
    // A description of one's own may have the name of a framework.
    [{ tensor: 2 }, notCosted('megatron'), { requests: [{ framework: described('megatron') }] }],
    [
      { pipeline: 3, schedule: '1f1b', chunks: 2 },
      '`schedule=1f1b` has one stage on each rank; leave out `vp`, or use `schedule=interleaved-1f1b`',
    ],
    [
      { pipeline: 3, schedule: 'zb-v', chunks: 3 },
      '`schedule=zb-v` has 2 stages on each rank; set `vp` to 2, or leave it out',
    ],
    [
      { pipeline: 3, schedule: 'zb-v', chunks: 1 },
      '`schedule=zb-v` has 2 stages on each rank; set `vp` to 2, or leave it out',
    ],
    [
      { pipeline: 3, schedule: 'looped-bfs', chunks: 1 },
      '`schedule=looped-bfs` has several stages on each rank; set `vp` to 2 or more, or use `schedule=1f1b`',
    ],
    [
      { pipeline: 2 },
      'The model has no numbered modules of the same structure to cut between; leave `pp` out, or export the model with its module names',
      { analysis: flat },
    ],
    [{ pipeline: 8 }, 'The model has 6 blocks, fewer than its 8 pipeline stages; set `pp` to at most 6'],
    [
      { pipeline: 12, stages: 'torchtitan' },
      'The model has 6 blocks, 8 with the embedding and the head, fewer than its 12 pipeline stages; set `pp` to at most 8',
    ],
    [
      { pipeline: 2, chunks: 4 },
      'The model has 6 blocks, fewer than the 8 stages of 2 ranks with 4 each; set `vp` to at most 3, or `pp` to at most 1',
    ],
    [
      { pipeline: 6, chunks: 2 },
      'The model has 6 blocks, fewer than the 12 stages of 6 ranks with 2 each; use `schedule=1f1b` without `vp`, or `pp` to at most 3',
    ],
    [
      { pipeline: 3, chunks: 3, stages: 'torchtitan' },
      'The model has 6 blocks, 8 with the embedding and the head, fewer than the 9 stages of 3 ranks with 3 each; set `vp` to at most 2, or `pp` to at most 2',
    ],
    [
      { pipeline: 2, stages: [1, 2] },
      '`stages` has 3 blocks, and the model has 6; give numbers that add up to 6',
    ],
    [
      { context: 2 },
      'The model has no input of tokens [batch, sequence] or features [batch, sequence, width] to split by `cp`; leave `cp` out',
      { analysis: flat },
    ],
    [
      { pipeline: 3, schedule: 'gpipe' },
      '`megatron` has no schedule `gpipe`; use `1f1b` or `interleaved-1f1b`',
      { requests: [named('megatron')] },
    ],
  ];

  test.each(refused.map(([asked, message, rest]) => ({ asked, message, rest })))(
    '$asked: $message',
    ({ asked, message, rest }) => {
      const { issues, ...resolved } = resolve({ ...asked, microBatch: 2 }, rest);
      expect(resolved).toEqual({ ways: 1, microBatch: 2, said: [`error: ${message}`] });
      expect(issues.map(({ code, scenarioKey }) => [code, scenarioKey])).toEqual([
        ['scenario/invalid', 'parallel'],
      ]);
    },
  );

  test.each(['pytorch-ddp', 'pytorch-fsdp', 'deepspeed-zero', 'megatron', 'torchtitan'])(
    'nothing, of %s',
    (name) => {
      expect(resolve({ tensor: 2 }, { requests: [named(name)] }).said).toEqual([]);
    },
  );

  test('a schedule that a framework lacks is nothing to ranks without a pipeline', () => {
    const of = (parallel: Partial<ParallelScenario>) =>
      refusedByFramework({ ...one, ...parallel }, experts, { name: 'megatron', options: {} });
    expect(of({ tensor: 2, schedule: 'gpipe' })).toBeUndefined();
    expect(of({ pipeline: 2, schedule: 'gpipe' })).toMatch(/^`megatron` has no schedule `gpipe`/);
    expect(of({ pipeline: 2, schedule: '1f1b' })).toBeUndefined();
  });
});

describe('rounds of interleaved stages', () => {
  const ddp: FrameworkChoice = { name: 'pytorch-ddp', options: {} };
  const megatron: FrameworkChoice = { name: 'megatron', options: {} };
  const said = (parallel: Partial<ParallelScenario>, microBatches: number, framework = ddp) =>
    unevenRounds({ ...one, ...parallel }, microBatches, framework).map(
      ({ severity, message }) => `${severity}: ${message}`,
    );
  const interleaved = { pipeline: 4, chunks: 2, schedule: 'interleaved-1f1b' } as const;
  const uneven = (microBatches: number, rounds: number, more: number): string =>
    `error: ${microBatches} micro-batches do not divide into ${rounds} like rounds for 4 interleaved pipeline ranks; use a multiple of 4, such as ${more}, or \`schedule=1f1b\``;

  /** PyTorch: rounds of max(1, n // ranks), each of n // rounds; Megatron-LM: n % ranks = 0. */
  test.each<readonly [number, readonly string[], readonly string[]]>([
    [4, [], []],
    [8, [], []],
    // One round of three, five, six or seven.
    [3, [], [uneven(3, 1, 4)]],
    [5, [], [uneven(5, 2, 8)]],
    [7, [], [uneven(7, 2, 8)]],
    // Two rounds of four and one over; two rounds of five.
    [9, [uneven(9, 2, 12)], [uneven(9, 3, 12)]],
    [10, [], [uneven(10, 3, 12)]],
    [11, [uneven(11, 2, 12)], [uneven(11, 3, 12)]],
  ])('%i micro-batches on 4 ranks', (microBatches, pytorch, whole) => {
    expect(said(interleaved, microBatches)).toEqual(pytorch);
    expect(said(interleaved, microBatches, megatron)).toEqual(whole);
    // ZB-H1 with several stages of a rank goes in the same rounds.
    expect(said({ ...interleaved, schedule: 'zb-h1' }, microBatches)).toEqual(pytorch);
  });

  test.each<Partial<ParallelScenario>>([
    { pipeline: 1 },
    { pipeline: 4 },
    { pipeline: 4, schedule: 'gpipe' },
    { pipeline: 4, schedule: 'zb-h1' },
    { ...interleaved, schedule: 'looped-bfs' },
    { ...interleaved, schedule: 'zb-v' },
  ])('no other schedule has rounds: %o', (parallel) => {
    expect(said(parallel, 9)).toEqual([]);
    expect(said(parallel, 9, megatron)).toEqual([]);
  });

  test('without a layout there are none', () => {
    expect(unevenRounds(undefined, 9, ddp)).toEqual([]);
  });

  test.each([
    [1, '1 micro-batch is'],
    [7, '7 micro-batches are'],
  ])('%i are too few for DualPipeV with 8 stages', (microBatches, words) => {
    expect(said({ pipeline: 4, chunks: 2, schedule: 'dualpipe-v' }, microBatches)).toEqual([
      `error: ${words} too few for \`schedule=dualpipe-v\`, which needs 8, as many as stages; use more of them, or \`schedule=zb-v\``,
    ]);
    expect(said({ pipeline: 4, chunks: 2, schedule: 'dualpipe-v' }, 8)).toEqual([]);
    expect(said({ pipeline: 4, chunks: 2, schedule: 'zb-v' }, microBatches)).toEqual([]);
  });
});

describe('pieces of a sequence', () => {
  const said = (parallel: Partial<ParallelScenario>, seq: number) =>
    sequenceProblem(experts, { ...one, ...parallel }, { batch: 1, seq })?.message;
  const pieces = (size: number, parts: number, of: string): string =>
    `\`tokens\` has ${size} positions, which do not divide into ${parts} pieces, two for each GPU of ${of}; use a multiple of ${parts}, or a smaller \`cp\``;

  test.each<readonly [Partial<ParallelScenario>, number, string | undefined]>([
    [{ context: 1 }, 95, undefined],
    [{ context: 4 }, 96, undefined],
    [{ context: 4 }, 100, pieces(100, 8, '`cp=4`')],
    // Of eight, not of four.
    [{ context: 4, sequence: true, tensor: 2 }, 104, pieces(104, 16, '`cp=4` and `tp=2`')],
    [{ context: 4, sequence: false, tensor: 2 }, 104, undefined],
    [{ context: 4, sequence: true, tensor: 2 }, 112, undefined],
    [{ context: 2, contextExchange: 'all-to-all' }, 96, undefined],
    [{ context: 4, contextExchange: 'ring' }, 96, undefined],
    [
      { context: 4, contextExchange: 'all-to-all' },
      96,
      '6 heads do not divide by `cp=4`, which `cp-comm=all-to-all` needs; use `cp-comm=ring` or `all-gather`, or a `cp` that divides them',
    ],
    // Three heads on each of two GPUs.
    [
      { context: 2, tensor: 2, contextExchange: 'all-to-all' },
      96,
      '6 heads over `tp=2` do not divide by `cp=2`, which `cp-comm=all-to-all` needs; use `cp-comm=ring` or `all-gather`, or a `cp` that divides them',
    ],
    [{ context: 3, tensor: 2, contextExchange: 'all-to-all' }, 96, undefined],
    // Four do not divide six heads, which stay whole.
    [{ context: 2, tensor: 4, contextExchange: 'all-to-all' }, 96, undefined],
  ])('%o of %i positions: %s', (parallel, seq, message) => {
    expect(said(parallel, seq)).toBe(message);
  });
});
