/** The form of a file that describes custom operators; `syntaxes/custom-operators.schema.json` is generated from it. */

import { z } from 'zod';
import { elementTypes } from '../../model/elementType.ts';

const expression = z
  .union([z.number(), z.string().min(1).max(500)])
  .describe('A number, or arithmetic over dimensions of inputs and attributes: 2*M*N*K.');
const dimensions = z
  .array(z.union([z.number().int().nonnegative(), z.string().min(1).max(500)]))
  .max(16)
  .describe('Dimensions, the outermost first.');

export const customOperator = z.strictObject({
  like: z
    .string()
    .min(1)
    .optional()
    .describe('An operator that is known and has the same rules: Conv, com.microsoft.MoE.'),
  inputs: z
    .record(z.string(), dimensions)
    .optional()
    .describe(
      'Inputs by name, in order, each with names for its dimensions; "..." stands for any number of them.',
    ),
  attributes: z
    .record(z.string(), z.number())
    .optional()
    .describe('Numbers of the node that expressions use, each with its default.'),
  outputs: z
    .record(
      z.string(),
      z.union([dimensions, z.strictObject({ type: z.enum(elementTypes).optional(), shape: dimensions })]),
    )
    .optional()
    .describe('Outputs by name, in order, each with its dimensions as expressions.'),
  flops: expression.optional().describe('FLOPs of forward; a multiply-add is 2.'),
  bytes: expression.optional().describe('Bytes that forward moves; default: inputs and outputs once.'),
  kernels: z.int().positive().max(1000).optional().describe('Kernels that forward launches; default: 1.'),
  saved: z
    .array(z.string())
    .optional()
    .describe('Inputs and outputs that backward needs; default: all inputs.'),
  backward: z
    .strictObject({
      flops: expression.optional().describe('FLOPs of backward; default: twice those of forward.'),
      bytes: expression.optional().describe('Bytes that backward moves; default: twice those of forward.'),
    })
    .optional(),
});

export const customOperators = z.strictObject({
  $schema: z.string().optional(),
  operators: z.record(z.string(), customOperator).describe('Operators by domain.Type.'),
});
