/** What the runner says, one JSON object per line. Every line is checked against these schemas on arrival. */

import { z } from 'zod';
import { deviceKinds } from './deviceChoice.ts';
import { machineSchema } from './machine.ts';
import { machineStateSchema } from './machineState.ts';

/** Raised when an event changes its meaning. A runner that speaks a newer protocol is refused. */
export const protocolVersion = 1;

export const collectiveOperations = ['all-reduce', 'all-gather', 'reduce-scatter', 'all-to-all'] as const;
export type CollectiveOperation = (typeof collectiveOperations)[number];

/** A median over repeats with its spread: the quartiles. */
const timingSchema = z.object({
  median: z.number().nonnegative(),
  low: z.number().nonnegative(),
  high: z.number().nonnegative(),
  repeats: z.number().int().positive(),
});

/** Sent before `torch` is imported, so that version and interpreter are known whatever happens next. */
const helloSchema = z.object({
  event: z.literal('hello'),
  protocol: z.number().int(),
  python: z.string(),
});

const deviceSchema = z.object({
  event: z.literal('device'),
  kind: z.enum(deviceKinds),
  name: z.string(),
  torch: z.string(),
  /** CUDA or ROCm version `torch` was built for. */
  cuda: z.string().nullable(),
  threads: z.number().int().nullable(),
  memoryBytes: z.number().nonnegative().nullable(),
  elementTypes: z.array(z.string()),
  /** What really runs; differs from the plan where the device cannot. */
  precision: z.string(),
  notes: z.array(z.string()),
  /** Where it stands. */
  machine: machineSchema.optional(),
});

/** Sent before the measurement, and once more with what was seen meanwhile. */
const machineStateEventSchema = machineStateSchema.extend({ event: z.literal('machineState') });

const progressSchema = z.object({
  event: z.literal('progress'),
  phase: z.string(),
  done: z.number().nonnegative(),
  total: z.number().nonnegative(),
});

const layerSchema = z.object({
  event: z.literal('layer'),
  name: z.string(),
  forward: timingSchema.nullable(),
  /** For the data and the weights together; each alone where the layer has it. */
  backward: timingSchema.nullable(),
  dataGradient: timingSchema.optional(),
  weightGradient: timingSchema.optional(),
  /** Seconds that the host takes to launch each of them, where the device runs what it launched by itself. */
  host: z
    .object({
      forward: z.number().nonnegative().optional(),
      backward: z.number().nonnegative().optional(),
      dataGradient: z.number().nonnegative().optional(),
      weightGradient: z.number().nonnegative().optional(),
    })
    .optional(),
  /** Seconds of forward where the layer runs within the whole network. */
  forwardInStep: z.number().nonnegative().optional(),
  /** A layer that runs the same on tensors alike, whose times these are. */
  sameAs: z.string().optional(),
  /** Why there is no time, or not both. */
  reason: z.string().optional(),
});

const stepSchema = z.object({
  event: z.literal('step'),
  whole: timingSchema.nullable(),
  forward: timingSchema.nullable(),
  backward: timingSchema.nullable(),
  update: timingSchema.nullable(),
  /** Allocated by tensors. */
  peakMemoryBytes: z.number().nonnegative().nullable(),
  /** Taken from the driver, with what torch keeps for later; absent from older runners. */
  peakReservedBytes: z.number().nonnegative().nullable().optional(),
  /** Seconds that the host takes to launch the step; null on a processor, where it is the step. */
  host: z.number().nonnegative().nullable().optional(),
  reason: z.string().optional(),
});

/** The whole step after all layers: another time than before shows that the machine changed. */
const stepAgainSchema = z.object({ event: z.literal('stepAgain'), whole: timingSchema });

/** Sums of gradients that arrive from several layers: in one pass, this many, taking this long. */
const gradientSumsSchema = z.object({
  event: z.literal('gradientSums'),
  count: z.number().int().nonnegative(),
  seconds: z.number().nonnegative(),
});

const stepTimesSchema = z.object({
  whole: timingSchema,
  forward: timingSchema,
  backward: timingSchema.nullable(),
  update: timingSchema.nullable(),
});

/** A step that several processes share, and the same step of the same processes without communication. */
const sharedStepSchema = z.object({
  event: z.literal('sharedStep'),
  ranks: z.number().int().positive(),
  /** Of torch.distributed: nccl, gloo. */
  backend: z.string(),
  alone: stepTimesSchema,
  together: stepTimesSchema,
  peakMemoryBytes: z.number().nonnegative().nullable(),
});

/** One collective of one size with nothing beside it. */
const collectiveSchema = z.object({
  event: z.literal('collective'),
  operation: z.enum(collectiveOperations),
  /** Of the whole tensor, as nccl-tests counts. */
  bytes: z.number().int().positive(),
  ranks: z.number().int().positive(),
  time: timingSchema,
});

const kernelsSchema = z.object({
  seconds: z.number().nonnegative(),
  kernels: z.number().int().nonnegative(),
});
const layerKernelsSchema = kernelsSchema.extend({ longest: z.string() });

/** Kernels of one layer in a traced step; on a processor, operators. */
const layerKernelsEventSchema = z.object({
  event: z.literal('layerKernels'),
  name: z.string(),
  forward: layerKernelsSchema.optional(),
  backward: layerKernelsSchema.optional(),
});

const tracedStepSchema = z.object({
  event: z.literal('tracedStep'),
  /** Whether kernels of a device were seen, else operators of the host. */
  onDevice: z.boolean(),
  /** Seconds from the first to the last of them, and of these such in which any ran. */
  span: z.number().nonnegative(),
  busy: z.number().nonnegative(),
  longestGap: z.number().nonnegative(),
  update: kernelsSchema,
  /** Of no layer. */
  others: kernelsSchema,
});

/** The trace as a file, gzip of JSON in base64, in parts. */
const traceFileSchema = z.object({ event: z.literal('traceFile'), part: z.string() });

const noteSchema = z.object({ event: z.literal('note'), message: z.string() });

/** The step as Python, which a person may keep and run. */
const programSchema = z.object({ event: z.literal('program'), source: z.string() });

const doneSchema = z.object({ event: z.literal('done'), seconds: z.number().nonnegative() });

const errorSchema = z.object({
  event: z.literal('error'),
  kind: z.enum([
    'torch-missing',
    'no-gpu',
    'out-of-memory',
    'unsupported-operator',
    'not-shared',
    'bad-plan',
    'crash',
  ]),
  message: z.string(),
});

export const benchmarkEventSchema = z.discriminatedUnion('event', [
  helloSchema,
  deviceSchema,
  machineStateEventSchema,
  progressSchema,
  layerSchema,
  stepSchema,
  stepAgainSchema,
  gradientSumsSchema,
  sharedStepSchema,
  collectiveSchema,
  layerKernelsEventSchema,
  tracedStepSchema,
  traceFileSchema,
  noteSchema,
  programSchema,
  doneSchema,
  errorSchema,
]);

export type BenchmarkEvent = z.infer<typeof benchmarkEventSchema>;
export type Timing = z.infer<typeof timingSchema>;
export type DeviceEvent = z.infer<typeof deviceSchema>;
export type LayerEvent = z.infer<typeof layerSchema>;
export type StepEvent = z.infer<typeof stepSchema>;
export type SharedStepEvent = z.infer<typeof sharedStepSchema>;
export type LayerKernelsEvent = z.infer<typeof layerKernelsEventSchema>;
export type TracedStepEvent = z.infer<typeof tracedStepSchema>;
export type CollectiveEvent = z.infer<typeof collectiveSchema>;
export type ErrorEvent = z.infer<typeof errorSchema>;
