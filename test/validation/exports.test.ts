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

/** Codes that name a difference: of what, and which way it goes where it goes one way. */
const names: Readonly<Record<string, readonly { readonly of: readonly Quantity[]; readonly is?: 'less' }[]>> =
  {
    // What takes the weights in each step is not in the file.
    'graph/computed-weights': [
      { of: ['parameters', 'messages'] },
      { of: ['saved', 'time', 'clusterTime'], is: 'less' },
    ],
    'graph/fused-operators': [{ of: ['saved', 'time', 'clusterTime'], is: 'less' }],
    'graph/evaluation-export': [{ of: ['saved', 'time', 'clusterTime'], is: 'less' }],
    'scenario/assumed-in-place': [{ of: ['saved'] }],
  };

/** `default train`, for messages. */
const nameOf = (row: Row): string => `${row.model} ${row.export} ${row.mode}`;

/** What is compared: PyTorch's counts, the export in training mode, and that in the same mode, in which the same is missing. */
function expectedOf(
  row: Row,
  quantity: Quantity,
): readonly { readonly of: string; readonly value: number }[] {
  const truth = truths.find(({ model }) => model === row.model)?.truth;
  if (truth === undefined) return [];
  if (quantity === 'parameters') return [{ of: 'PyTorch', value: truth.parameters }];
  if (quantity === 'messages') return [{ of: 'PyTorch', value: 4 * truth.parameters }];
  if (quantity === 'flops') return [{ of: 'PyTorch', value: truth.flops }];
  return (['train', row.mode] as const).flatMap((mode) => {
    const own = rows.filter((each) => each.model === row.model && each.mode === mode);
    const reference =
      own.find((each) => each.export === 'unoptimized') ?? own.find((each) => each.export === 'legacy');
    const value = reference?.[quantity];
    return value === null || value === undefined ? [] : [{ of: mode, value }];
  });
}

interface Difference {
  readonly row: Row;
  readonly quantity: Quantity;
  /** What it is compared with. */
  readonly with: string;
  readonly ratio: number;
}

/** What is further off than 3 % without a code that names it. */
const unnamed: readonly Difference[] = rows.flatMap((row) =>
  quantities.flatMap((quantity) =>
    expectedOf(row, quantity).flatMap(({ of, value }) => {
      const own = row[quantity];
      const ratio = own === null ? Number.NaN : own / value;
      if (Math.abs(ratio - 1) <= 0.03) return [];
      const isNamed = row.codes.some((code) => {
        // In the same mode the same is missing.
        if (code === 'graph/evaluation-export' && of === row.mode) return false;
        return (names[code] ?? []).some(
          (named) => named.of.includes(quantity) && (named.is === undefined || ratio < 1),
        );
      });
      return isNamed ? [] : [{ row, quantity, with: of, ratio }];
    }),
  ),
);

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
    const differences = unnamed.map(
      ({ row, quantity, with: other, ratio }) =>
        `${nameOf(row)}: ${quantity} ${ratio.toFixed(3)} of ${other}`,
    );
    expect(differences).toEqual([]);
  });

  test('have as many parameters as PyTorch counts, to the last one, or say why not', () => {
    const inexact = rows.filter(
      (row) =>
        !row.codes.includes('graph/computed-weights') &&
        row.parameters !== truths.find(({ model }) => model === row.model)?.truth.parameters,
    );
    expect(inexact.map(nameOf)).toEqual([]);
  });

  test('are all exact, or say that they are not', () => {
    expect(rows.filter(({ exact, codes }) => !exact && codes.length === 0)).toEqual([]);
  });
});
