/** The form of `layercost.yaml`; `syntaxes/check.schema.json` is generated from it. */

import { z } from 'zod';
import { failOn } from './checkFile.ts';
import { quantities } from './quantities.ts';

const scalar = z.union([z.string(), z.number()]);

const limit = (documentation: string) =>
  scalar
    .optional()
    .describe(`${documentation} An amount, a change such as \`+5 %\`, or both with a comma between them.`);

const budgets = z.strictObject(
  Object.fromEntries(
    Object.entries(quantities).map(([name, { documentation, limit: side }]) => [
      name,
      limit(`${documentation} Limit: ${side}.`),
    ]),
  ),
);

const check = z.strictObject({
  model: z.string().min(1).describe('Path of the model from the folder of this file.'),
  scenario: z
    .record(
      z.string(),
      z.union([scalar, z.array(scalar), z.record(z.string(), z.union([z.string(), z.number()]))]),
    )
    .default({})
    .describe('Options of the command line without their dashes, such as `gpus: 16`.'),
  budgets: budgets.default({}).describe('What the step may cost.'),
  accept: z
    .array(z.string())
    .default([])
    .describe('Findings that are known and accepted, such as `late-gradient`.'),
  'fail-on': z
    .enum(failOn)
    .default('error')
    .describe('The least severity of a finding that fails the check.'),
});

export const checkFileSchema = z.strictObject({
  $schema: z.string().optional(),
  checks: z.record(z.string().min(1), check).describe('By name: a model, a scenario and budgets.'),
});
