/**
 * The law of exports: a model costs a training step alike, however it was exported (`measured/exports.jsonl`, written by
 * `npm run samples -- --exports`). Each quantity is within 3 % of the model's own, or the report names the difference.
 *
 * Parameters, gradient messages and FLOPs are compared with PyTorch's counts, saved activations and times with the export
 * that the exporter's optimizer left alone, in training mode, where there is one.
 */

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';

const truthRow = z.object({
  model: z.string(),
  library: z.string(),
  truth: z.object({ parameters: z.number(), flops: z.number(), saved: z.number() }),
});
const named = { model: z.string(), export: z.string(), mode: z.enum(['eval', 'train']) };
const refusedRow = z.object({ ...named, refused: z.string() });
const costRow = z.object({
  ...named,
  parameters: z.number(),
  flops: z.number().nullable(),
  saved: z.number(),
  time: z.number().nullable(),
  clusterTime: z.number().nullable(),
  messages: z.number(),
  exact: z.boolean(),
  codes: z.array(z.string()),
});
type Row = z.infer<typeof costRow>;

const [versions, ...lines] = readFileSync('measured/exports.jsonl', 'utf8')
  .trim()
  .split('\n')
  .map((line): unknown => JSON.parse(line));
const truths = lines.flatMap((line) => truthRow.safeParse(line).data ?? []);
const refused = lines.flatMap((line) => refusedRow.safeParse(line).data ?? []);
const rows = lines.flatMap((line) => costRow.safeParse(line).data ?? []);

const quantities = ['parameters', 'messages', 'flops', 'saved', 'time', 'clusterTime'] as const;
type Quantity = (typeof quantities)[number];

/** Codes that name a difference, and of what. */
const names: Readonly<Record<string, readonly Quantity[]>> = {
  'graph/computed-weights': ['parameters', 'messages'],
  'graph/fused-operators': ['saved', 'time', 'clusterTime'],
  'scenario/assumed-in-place': ['saved'],
};

/** Differences that no report names yet, with their cause. Each must still be needed. */
const open: readonly {
  readonly cause: string;
  readonly models: RegExp;
  readonly exports: RegExp;
  readonly of: readonly Quantity[];
}[] = [
  {
    cause: 'dropout and stochastic depth are not in eval exports',
    models:
      /^(efficientnet|convnext|gpt2|bert|distilbert|t5|whisper|mobilenet|swin|segformer|deeplab|inception)/,
    exports: / eval$/,
    of: ['saved', 'time', 'clusterTime'],
  },
  {
    cause: 'a bias is restored to convolutions of DenseNet, which have none',
    models: /^densenet/,
    exports: /^(default|opset\d+) /,
    of: ['time', 'clusterTime'],
  },
  {
    cause: 'tables of position biases, looked up by constant indices, are folded',
    models: /^(swin|levit)/,
    exports: /^(default|opset\d+) /,
    of: ['time', 'clusterTime'],
  },
  {
    cause: 'not found: experts in exports of TorchScript',
    models: /^mixtral$/,
    exports: /^legacy /,
    of: ['time', 'clusterTime'],
  },
  {
    cause: 'keys and values that several heads share are repeated in several ways',
    models: /^(llama|mixtral)$/,
    exports: /^(default|opset18|legacy) /,
    of: ['saved'],
  },
  {
    cause: 'group normalization with one group is written out in several ways',
    models: /^(poolformer|mobilevit)/,
    exports: /./,
    of: ['saved', 'time', 'clusterTime'],
  },
  {
    cause: 'a split of packed queries, keys and values copies them in one graph and not in the other',
    models: /^(deit|distilbert)/,
    exports: / train$|^legacy /,
    of: ['time'],
  },
];

/** `default train`, for messages. */
const nameOf = (row: Row): string => `${row.model} ${row.export} ${row.mode}`;

function expectedOf(row: Row, quantity: Quantity): number | null {
  const truth = truths.find(({ model }) => model === row.model)?.truth;
  if (truth === undefined) return null;
  if (quantity === 'parameters') return truth.parameters;
  if (quantity === 'messages') return 4 * truth.parameters;
  if (quantity === 'flops') return truth.flops;
  const own = rows.filter(({ model }) => model === row.model);
  const reference =
    own.find((each) => each.export === 'unoptimized' && each.mode === 'train') ??
    own.find((each) => each.export === 'legacy' && each.mode === 'train');
  return reference?.[quantity] ?? null;
}

interface Difference {
  readonly row: Row;
  readonly quantity: Quantity;
  readonly ratio: number;
}

/** What is further off than 3 % without a code that names it. */
const unnamed: readonly Difference[] = rows.flatMap((row) =>
  quantities.flatMap((quantity) => {
    const expected = expectedOf(row, quantity);
    const own = row[quantity];
    const ratio = own === null || expected === null ? Number.NaN : own / expected;
    if (Math.abs(ratio - 1) <= 0.03) return [];
    if (row.codes.some((code) => names[code]?.includes(quantity))) return [];
    return [{ row, quantity, ratio }];
  }),
);

const explains = (entry: (typeof open)[number], { row, quantity }: Difference): boolean =>
  entry.models.test(row.model) &&
  entry.exports.test(`${row.export} ${row.mode}`) &&
  entry.of.includes(quantity);

describe('exports of one model', () => {
  test('are thirty models of three libraries, in ten exports each', () => {
    expect(z.object({ versions: z.record(z.string(), z.string()) }).safeParse(versions).success).toBe(true);
    expect(truths.length).toBe(30);
    for (const library of ['torchvision', 'timm', 'transformers']) {
      expect(truths.filter((row) => row.library === library).length).toBe(10);
    }
    expect(rows.length + refused.length + truths.length).toBe(lines.length);
    expect(rows.length + refused.length).toBe(300);
  });

  test('cost a training step alike, or say what differs', () => {
    const unexplained = unnamed.filter((difference) => !open.some((entry) => explains(entry, difference)));
    expect(
      unexplained.map(({ row, quantity, ratio }) => `${nameOf(row)}: ${quantity} ${ratio.toFixed(3)}`),
    ).toEqual([]);
  });

  test.each(open.map((entry) => [entry.cause, entry] as const))('still differ: %s', (_, entry) => {
    expect(unnamed.some((difference) => explains(entry, difference))).toBe(true);
  });

  test('are all exact, or say that they are not', () => {
    expect(rows.filter(({ exact, codes }) => !exact && codes.length === 0)).toEqual([]);
  });
});
