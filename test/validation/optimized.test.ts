/**
 * A file that was optimized for inference costs a training step like the export that it was made from
 * (`measured/optimized.jsonl`, written by `npm run samples -- --optimized`): within 3 %, or the report names the difference.
 */

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';

const named = { model: z.string(), export: z.string(), optimizer: z.string() };
const refusedRow = z.object({ ...named, refused: z.string() });
const costRow = z.object({
  ...named,
  parameters: z.number(),
  flops: z.number().nullable(),
  saved: z.number(),
  time: z.number().nullable(),
  clusterTime: z.number().nullable(),
  messages: z.number(),
  codes: z.array(z.string()),
});
type Row = z.infer<typeof costRow>;

const [, ...lines] = readFileSync('measured/optimized.jsonl', 'utf8')
  .trim()
  .split('\n')
  .map((line): unknown => JSON.parse(line));
const refused = lines.flatMap((line) => refusedRow.safeParse(line).data ?? []);
const rows = lines.flatMap((line) => costRow.safeParse(line).data ?? []);

const quantities = ['parameters', 'messages', 'flops', 'saved', 'time', 'clusterTime'] as const;

/** Codes that name a difference; errors in the file among them. */
const naming: ReadonlySet<string> = new Set([
  'graph/runtime-optimized',
  'graph/fused-operators',
  'graph/undefined-value',
  'shape/mismatch',
]);

/** What is off without a word, with the cause where it is known. */
const open: Readonly<Record<string, string>> = {
  'deit_tiny_patch16_224 onnxscript-fusions': 'kernels of packed projections',
  'mobilevitv2_050 onnxscript-fusions': 'the scale of a group normalization is reshaped in front of it',
  'segformer legacy runtime-transformers': 'a table of 3 axes was computed beforehand',
  'swin_t onnxscript-fusions': 'scores with two masks are fused as if they had one',
  'vit_b_16 legacy onnxscript-fusions': 'kernels of packed projections',
  'whisper legacy onnxscript-folding':
    'a product with 1 was removed, which showed that attention was one call',
  'whisper legacy onnxscript-fusions': 'masks of attention are removed',
};

const exportOf = ({ model, export: name }: Row): string => `${model} ${name}`;

const differences = rows.flatMap((row) => {
  const before = rows.find((each) => each.optimizer === 'none' && exportOf(each) === exportOf(row));
  return quantities.flatMap((quantity) => {
    const [own, reference] = [row[quantity], before?.[quantity]];
    const ratio =
      own === null || reference === null || reference === undefined ? Number.NaN : own / reference;
    return Math.abs(ratio - 1) <= 0.03 ? [] : [{ row, quantity, ratio }];
  });
});

describe('exports that were optimized for inference', () => {
  test('are twenty models, two to three exports each, changed in five to six ways', () => {
    expect(new Set(rows.map(({ model }) => model)).size).toBe(20);
    expect(rows.length + refused.length).toBe(lines.length);
    expect(refused.map(({ optimizer }) => optimizer)).toEqual(['none', 'none']);
    expect(rows.filter(({ optimizer }) => optimizer !== 'none').length).toBe(321);
  });

  test('cost a training step as before, or say what differs', () => {
    const unnamed = differences.filter(
      ({ row }) =>
        !row.codes.some((code) => naming.has(code)) &&
        open[`${exportOf(row)} ${row.optimizer}`] === undefined &&
        open[`${row.model} ${row.optimizer}`] === undefined,
    );
    expect(
      unnamed.map(
        ({ row, quantity, ratio }) => `${exportOf(row)} ${row.optimizer}: ${quantity} ${ratio.toFixed(3)}`,
      ),
    ).toEqual([]);
  });

  test('cost a training step as before where convolutions were fused', () => {
    const convolutional = ['resnet18', 'densenet121', 'convnext_tiny'];
    expect(differences.filter(({ row }) => convolutional.includes(row.model))).toEqual([]);
    const withoutBlocks = ['mobilenet_v3_small', 'efficientnet_b0', 'regnet_y_400mf', 'ghostnet_100'];
    expect(
      differences.filter(({ row }) => withoutBlocks.includes(row.model) && row.optimizer !== 'runtime-all'),
    ).toEqual([]);
  });
});
