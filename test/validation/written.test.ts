/**
 * Networks as people write them, in four exports each, beside what PyTorch counts of them (`measured/written.jsonl`, written by
 * `npm run samples -- --written`): each quantity within 3 %, or the report names the difference, or it is listed with its cause.
 */

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { z } from 'zod';

const truthRow = z.object({
  model: z.string(),
  truth: z.object({
    withGradient: z.number(),
    forward: z.number(),
    byGroups: z.number(),
    saved: z.number(),
  }),
});
const named = { model: z.string(), export: z.enum(['legacy', 'default', 'unoptimized', 'archive']) };
const refusedRow = z.object({ ...named, refused: z.string() });
const costRow = z.object({
  ...named,
  parameters: z.number(),
  forward: z.number().nullable(),
  backward: z.number().nullable(),
  saved: z.number(),
  exact: z.boolean(),
  unknown: z.array(z.string()),
  codes: z.array(z.string()),
});
type Row = z.infer<typeof costRow>;

const [versions, ...lines] = readFileSync('measured/written.jsonl', 'utf8')
  .trim()
  .split('\n')
  .map((line): unknown => JSON.parse(line));
const truths = new Map(
  lines.flatMap((line) => truthRow.safeParse(line).data ?? []).map(({ model, truth }) => [model, truth]),
);
const refused = lines.flatMap((line) => refusedRow.safeParse(line).data ?? []);
const rows = lines.flatMap((line) => costRow.safeParse(line).data ?? []);

const quantities = ['parameters', 'forward', 'backward', 'saved'] as const;
type Quantity = (typeof quantities)[number];

/** Codes that name a difference: of what, and which way it goes where it goes one way. */
const names: Readonly<
  Record<string, readonly { readonly of: readonly Quantity[]; readonly is?: 'less' | 'more' }[]>
> = {
  'findings/trained-adapters': [{ of: ['parameters', 'backward', 'saved'], is: 'more' }],
  'graph/assumed-casts': [{ of: ['saved'], is: 'more' }],
  'graph/assumed-gradients': [{ of: ['parameters', 'backward', 'saved'], is: 'more' }],
  'graph/assumed-weights': [{ of: ['parameters', 'backward', 'saved'], is: 'more' }],
  'graph/checkpoint': [
    { of: ['backward'], is: 'less' },
    { of: ['saved'], is: 'more' },
  ],
  'graph/complex-products': [{ of: quantities, is: 'more' }],
  'graph/computed-weights': [{ of: ['parameters'] }, { of: ['forward', 'backward', 'saved'], is: 'less' }],
  'graph/custom-backward': [{ of: ['backward', 'saved'] }],
  'pt2/custom-backward': [{ of: ['backward', 'saved'] }],
  'graph/lost-modules': [{ of: ['parameters', 'forward', 'backward', 'saved'], is: 'less' }],
  'graph/duplicate-value': [{ of: quantities }],
  'graph/unrecorded-calls': [
    { of: ['parameters', 'backward', 'saved'], is: 'more' },
    { of: ['forward', 'backward', 'saved'], is: 'less' },
  ],
  'graph/unknown-operator': [{ of: ['forward', 'backward', 'saved'], is: 'less' }],
  'pt2/checkpoint': [
    { of: ['backward'], is: 'less' },
    { of: ['saved'], is: 'more' },
  ],
  'graph/assumed-calls': [{ of: ['saved'], is: 'more' }],
  'scenario/assumed-attention': [{ of: ['saved'], is: 'less' }],
  'scenario/assumed-in-place': [{ of: ['saved'] }],
};

/** Why a quantity differs without a word; `model export`, or `model` for all exports. */
const untold =
  'no ONNX file records `requires_grad`; the report says that all parameters are taken as trained';
const layer = 'a recurrent layer: the CPU keeps other tensors than cuDNN';
const bag = 'CUDA keeps the bag of each row, the CPU does not';
const product = "products inside the function, which PyTorch's counter does not see, stand in the file";
const merged = 'the exporter merges equal calls, and nothing in the file shows a second one';
const otherwise: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ['dit', 'flamingo', 'prefixtuning'].flatMap((name) =>
      ['default', 'legacy', 'unoptimized'].map((way) => [`${name} ${way}`, untold]),
    ),
  ),
  'bifpn legacy': '`x * sigmoid(x)`, which the exporter writes for `silu` too, is taken for that',
  'capsnet legacy': 'the exporter records no `detach`, and nothing in the file shows one',
  charcnntagger: layer,
  'checkpointed legacy': 'the TorchScript exporter records no checkpoint, and nothing in the file shows one',
  'data2vec default': 'a parameter that a write spreads over rows is stored as these rows',
  'diagonal legacy': 'indices of the diagonal are in a branch of the file',
  dlrmbag: bag,
  esim: layer,
  'frozenbackbone legacy': 'no ONNX file records `requires_grad`, and nothing shows the `no_grad`',
  'graphwavenet legacy': 'PyTorch computes a last block that nothing reads, and the exporter drops it',
  indexcopy:
    '`index_copy` is written as `index_put`, which does not keep what it writes; in the legacy export its shape is unknown',
  lockedlstm: layer,
  'loramerged unoptimized': untold,
  'packedlstm legacy': 'a packed sequence has no padding, which the file computes',
  'perceptual default': untold,
  'perceptual unoptimized': untold,
  'performer legacy': 'the exporter stores a buffer like a parameter, and its name says neither',
  pointsets: product,
  seq2seq: layer,
  'textcnn default': untold,
  'textcnn unoptimized': untold,
  'twicehead legacy': merged,
  weightedbag: bag,
  'worldmodel default': 'zeros of two states, which the exporter merges, are taken for weights',
};

const truthOf = ({ model }: Row) => {
  const truth = truths.get(model);
  if (truth === undefined) throw new Error(`${model} has no counts of PyTorch`);
  return {
    parameters: truth.withGradient,
    forward: truth.forward,
    backward: truth.byGroups,
    saved: truth.saved,
  };
};

/** What is further off than 3 %, without a code that names it. */
const unnamed = rows.flatMap((row) =>
  quantities.flatMap((quantity) => {
    const own = row[quantity];
    const ratio = own === null ? Number.NaN : own / truthOf(row)[quantity];
    if (Math.abs(ratio - 1) <= 0.03) return [];
    const isNamed = row.codes.some((code) =>
      (names[code] ?? []).some(
        ({ of, is }) =>
          of.includes(quantity) && (is === undefined || Number.isNaN(ratio) || ratio > 1 === (is === 'more')),
      ),
    );
    return isNamed ? [] : [{ row, quantity, ratio }];
  }),
);

test('more than two hundred networks, in four exports each', () => {
  expect(z.object({ versions: z.record(z.string(), z.string()) }).safeParse(versions).success).toBe(true);
  expect(truths.size).toBeGreaterThanOrEqual(210);
  expect(rows.length + refused.length).toBe(4 * truths.size);
  expect(rows.length + refused.length + truths.size).toBe(lines.length);
});

test('cost what PyTorch counts, or say what differs, or the cause is listed', () => {
  const open = unnamed.filter(
    ({ row }) => !(row.model in otherwise || `${row.model} ${row.export}` in otherwise),
  );
  expect(
    open.map(({ row, quantity, ratio }) => `${row.model} ${row.export}: ${quantity} ${ratio.toFixed(3)}`),
  ).toEqual([]);
});

test('no cause is listed of what is right', () => {
  const wrong = new Set(unnamed.flatMap(({ row }) => [row.model, `${row.model} ${row.export}`]));
  expect(Object.keys(otherwise).filter((name) => !wrong.has(name))).toEqual([]);
});

test('archives are known to the last operator', () => {
  const inexact = rows.filter((row) => row.export === 'archive' && !row.exact);
  expect(inexact.map(({ model, unknown }) => `${model}: ${unknown.join(', ')}`)).toEqual([
    'glow: aten.slogdet.default',
    'manyactivations: aten.rrelu.default',
  ]);
});
