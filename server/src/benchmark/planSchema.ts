/** The plan that the Python runner reads: what one GPU computes in a step, as plain JSON. */

import { z } from 'zod';
import { keepings } from '../analysis/recomputedGroups.ts';
import { checkpoints, modes, optimizers, precisions } from '../model/scenario.ts';

/** Raised when an older runner could misread a newer plan. */
export const planVersion = 3;

export const cacheStates = ['cold', 'hot'] as const;

/** JSON has no infinities; masks are full of them. */
const numberSchema = z.union([z.number(), z.enum(['Infinity', '-Infinity', 'NaN'])]);
const count = z.number().int().nonnegative();
const shapeSchema = z.array(count);
const tensorSchema = z.object({
  elementType: z.string(),
  shape: shapeSchema,
  elements: z.array(numberSchema).optional(),
});

const operatorSchema = z.object({
  name: z.string(),
  type: z.string(),
  domain: z.string(),
  inputs: z.array(z.string()),
  outputs: z.array(z.string()),
  attributes: z.record(
    z.string(),
    z.union([numberSchema, z.string(), z.array(z.union([numberSchema, z.string()])), tensorSchema]),
  ),
  /** Why the runner cannot execute it although it may know the operator. */
  obstacle: z.string().optional(),
});

export const benchmarkPlanSchema = z.object({
  version: z.literal(planVersion),
  model: z.string(),
  batch: z.number().int().positive(),
  mode: z.enum(modes),
  precision: z.enum(precisions),
  optimizer: z.enum(optimizers),
  /** Passes of forward and backward before one update. */
  accumulate: z.number().int().positive(),
  channelsLast: z.boolean(),
  /** Of `torch.compile`, for the whole step; null for eager PyTorch. */
  compile: z.enum(['default', 'reduce-overhead', 'max-autotune']).nullable(),
  optimizerKernels: z.enum(['foreach', 'fused', 'loop']),
  clipsNorm: z.boolean(),
  /** Gradients stay allocated, and are filled with zeros. */
  addsGradients: z.boolean(),
  /**
   * `half`: weights, gradients and the state of the optimizer are in half precision, without autocast; with a copy, the
   * optimizer updates weights in fp32 and they are cast back.
   */
  weights: z.enum(['fp32', 'half', 'half-with-copy']),
  /** fp32 convolutions use TF32 where the GPU has it. */
  convTf32: z.boolean(),
  /** Before each timing of a layer: `cold`, as a step leaves them, or `hot`, as the run before. */
  caches: z.enum(cacheStates).default('hot'),
  /** Time the runner aims at for everything after the first step; repeats are chosen to fit. */
  budgetSeconds: z.number().positive(),
  opset: count,
  /** In graph order. Activations give the shape that is expected, for the check while running. */
  values: z.array(
    z.object({
      name: z.string(),
      role: z.enum(['input', 'parameter', 'buffer', 'constant', 'activation']),
      elementType: z.string(),
      shape: shapeSchema.nullable(),
      gradient: z.boolean(),
      /** Contents in row-major order, where they are known. */
      elements: z.array(numberSchema).optional(),
      /** Integers drawn for this value stay below it: they index a table of this many rows. */
      limit: z.number().int().positive().optional(),
    }),
  ),
  /** In topological order. */
  operators: z.array(
    operatorSchema.extend({
      /** One call for several operators: these, in order. The call runs where it computes what they do. */
      parts: z.array(operatorSchema).optional(),
    }),
  ),
  /** Operators by position in `operators`; empty where nothing of the layer runs on the device. */
  layers: z.array(z.object({ name: z.string(), type: z.string(), operators: z.array(count) })),
  outputs: z.array(z.string()),
  /** What of the scenario decides `recomputed`: `marks` of layers where it says nothing. */
  checkpoint: z.enum([...checkpoints, 'marks']).default('none'),
  /** Operators by position that backward recomputes together, and what is kept of them beside what goes in. */
  recomputed: z.array(z.object({ operators: z.array(count), keeping: z.enum(keepings) })),
  /** They are recomputed to the end: `use_reentrant=True`. */
  reentrant: z.boolean(),
  /** A step that does not fit into memory ends the run; its layers alone are measured unless given. */
  endsWhereTooLarge: z.boolean().optional(),
});

export type BenchmarkPlan = z.infer<typeof benchmarkPlanSchema>;
export type PlannedValue = BenchmarkPlan['values'][number];
export type PlannedOperator = z.infer<typeof operatorSchema>;
export type PlannedNumber = z.infer<typeof numberSchema>;
export type PlannedTensor = z.infer<typeof tensorSchema>;

/** As JSON can hold it. */
export function jsonNumber(value: number): PlannedNumber {
  if (Number.isFinite(value)) return value;
  return Number.isNaN(value) ? 'NaN' : value > 0 ? 'Infinity' : '-Infinity';
}
