/**
 * The report: a step's cost as the plain document that `--format json` prints (schema version 1).
 *
 * The schema below is the contract; `syntaxes/report.schema.json` is generated from it. A field may be added;
 * none is renamed or removed without a new schema version.
 */

import { z } from 'zod';
import { blockFormats } from '../../model/blockFormat.ts';
import { deviceNouns } from '../../model/deviceNoun.ts';
import { priceKinds } from '../../model/price.ts';
import {
  contextExchanges,
  gatheredTensors,
  lossChoices,
  pipelineSchedules,
  stageCuts,
} from '../../model/scenario.ts';
import { stepLimits } from '../../model/stepCost.ts';

const count = z.number().int().nonnegative();
const amount = z.number().nonnegative();
/** A value that cannot be known is null, never 0. */
const orUnknown = <T extends z.ZodType>(schema: T) => schema.nullable();
const range = orUnknown(z.tuple([amount, amount])).describe('Low and high bound; null where unknown');

const modelSchema = z.object({
  name: z.string(),
  format: z.enum(['onnx', 'onnx-text', 'pt2', 'layer-spec', 'prototxt']),
  operators: count,
  parameters: count.describe('Trainable elements, each once however often it is shared'),
  frozenParameters: count.optional().describe('Elements of weights that are not trained; 0 where absent'),
  batchDimension: orUnknown(z.string()).describe('Symbol that stands for the batch; null where it is fixed'),
  parameterBytes: amount.describe('Bytes of the trainable elements at the width of the file'),
});

const scenarioSchema = z.object({
  cluster: z.string(),
  gpu: z.string(),
  device: z.enum(deviceNouns).optional().describe('What `gpus` counts, where it is no GPU'),
  nodes: count,
  gpus: count.describe('GPUs in all'),
  batchPerGpu: count.describe('Of the busiest GPU, where a batch over all does not divide'),
  globalBatch: count.optional().describe('Over all GPUs and passes, where it was asked for'),
  accumulate: count.optional().describe('Passes of a step; 1 where absent'),
  dimensions: z.record(z.string(), z.number()).describe('Values of symbolic dimensions'),
  precision: z.string(),
  optimizer: z.string(),
  framework: z.string(),
  frameworkOptions: z.record(z.string(), z.string()).optional().describe('Those that were asked for'),
  mode: z.string(),
  past: count.optional().describe('Tokens in the cache; the step is then the decode of one token'),
  loss: z.enum(lossChoices).optional().describe('The loss that was asked for; auto where absent'),
  checkpoint: z
    .string()
    .optional()
    .describe('What repeated blocks keep for backward; where absent, all but what marks of layers recompute'),
  parallel: z
    .object({
      tensor: count,
      sequence: z.boolean(),
      gathered: z.enum(gatheredTensors).describe('With sequence: kept for backward, or gathered again'),
      context: count,
      contextExchange: z.enum(contextExchanges).describe('How attention meets the positions of other GPUs'),
      expert: count.describe('GPUs that share the experts of a mixture; they are not those of one copy'),
      expertImbalance: amount.describe('Rows of the GPU with the busiest experts over the mean'),
      pipeline: count,
      chunks: count.describe('Stages of the model on each rank of the pipeline'),
      schedule: z.enum(pipelineSchedules),
      stages: z
        .union([z.enum(stageCuts), z.array(count)])
        .describe('How the model is cut; numbers: blocks of each stage'),
    })
    .optional()
    .describe('How GPUs share a copy of the model; where absent, each has a copy'),
  freeze: z.array(z.string()).optional().describe('Patterns of parameters that are not trained'),
  lora: z
    .object({
      rank: count,
      layers: z.array(z.string()).optional(),
      dropout: amount.optional(),
      base: z.enum(blockFormats).optional().describe('Format of the frozen linear layers'),
    })
    .optional()
    .describe('Low-rank adapters beside linear layers; where `layers` is absent, beside all but the head'),
  measuredStep: amount
    .optional()
    .describe('Seconds of one pass and the update on one GPU, measured, in the place of predicted ones'),
});

const totalsSchema = z.object({
  flops: z.object({ forward: amount, backward: amount }).describe('2 per multiply-add'),
  operations: z
    .object({ forward: amount, backward: amount })
    .describe('Element-wise operations, not part of flops'),
  time: z
    .object({
      input: orUnknown(amount).describe('Reading, decoding and copying of a batch; null where not described'),
      exposedInput: orUnknown(amount).describe('The part of it for which the GPU waits'),
      forward: orUnknown(amount),
      backward: orUnknown(amount),
      communication: orUnknown(amount),
      exposedCommunication: orUnknown(amount).describe('The part of it for which the GPU waits'),
      update: orUnknown(amount),
      waitingForHost: orUnknown(amount).describe(
        'Of forward, backward and update: the GPU has nothing to run until the host launches it; null where measured',
      ),
      step: orUnknown(amount),
      stepRange: range,
      exact: z
        .boolean()
        .describe(
          'False where the step is a lower bound: some work, or input that was asked for, is unknown',
        ),
    })
    .describe('Seconds per step'),
  memory: z
    .object({
      parameters: amount,
      gradients: amount,
      optimizerState: amount,
      activations: amount,
      workspace: amount,
      communicationBuffers: amount,
      cache: amount
        .optional()
        .describe('Keys and values of a decode step; at the peak they are among the activations'),
      needed: amount.describe(
        'What a GPU needs: tensors at their peak, driver and framework; what the allocator reserves for the tensors where only that does not fit, or may not',
      ),
      neededRange: z
        .tuple([amount, amount])
        .describe('What a GPU needs at least and at most: 80 % of measured peaks should lie between'),
      fits: orUnknown(z.enum(['yes', 'may', 'no'])).describe(
        'Whether the GPU has what is needed: `may` where that is uncertain; null where its capacity is unknown',
      ),
      peak: amount.describe('The most that tensors need at once: what is allocated'),
      reserved: z
        .tuple([amount, amount])
        .describe(
          'What the caching allocator takes from the GPU for it: at least, and where the GPU has all it asks for',
        ),
      context: amount.describe('What driver and framework take beside it; an assumption'),
      capacity: orUnknown(amount),
      largestBatch: orUnknown(count).describe('The largest batch of a GPU whose tensors fit'),
      peakAt: z
        .object({
          phase: z.enum(['forward', 'backward', 'update']),
          layer: z.string(),
          parameters: amount,
          gradients: amount,
          optimizerState: amount,
          activations: amount,
          workspace: amount,
          communicationBuffers: amount,
        })
        .describe('When and at which layer the peak is; the parts add up to it'),
    })
    .describe('Bytes per GPU'),
  throughput: orUnknown(amount).describe('Samples per second over all GPUs'),
  tokensPerSample: count.optional().describe('Where the model reads tokens; absent elsewhere'),
  tokenThroughput: orUnknown(amount).optional().describe('Tokens per second over all GPUs'),
  scalingEfficiency: orUnknown(amount).describe(
    'Weak scaling: step time on one GPU with the batch of a GPU ÷ step time here',
  ),
  strongScalingEfficiency: orUnknown(amount)
    .optional()
    .describe(
      'Strong scaling: throughput per GPU ÷ that of one GPU with the whole batch; with globalBatch only',
    ),
  efficiencyNotes: z
    .array(z.string())
    .describe('What explains an efficiency above 1, or a single GPU without memory for the step'),
  mfu: orUnknown(amount),
  limit: z
    .object({ kind: z.enum(stepLimits), share: amount })
    .describe('What the step waits for most beside computation, and its share; compute where that is small'),
  input: z
    .object({
      storage: orUnknown(amount),
      decoding: orUnknown(amount),
      copying: amount,
      slowest: z.enum(['storage', 'decoding', 'copying']),
      unknown: z.array(z.string()).describe('Why parts that were asked for are not known'),
      undescribed: z.array(z.string()).describe('Parts that nobody described, which are not modelled'),
    })
    .optional()
    .describe('Seconds for the batch of one GPU; absent where the input is not described'),
  imbalance: z
    .object({ factor: amount, time: amount })
    .optional()
    .describe('Slowest worker over the average, and the seconds of the step spent waiting for it'),
  mixed: z
    .object({
      slower: z.object({ gpu: z.string(), count: amount }),
      faster: z.object({ gpu: z.string(), count: amount }),
      time: amount,
    })
    .optional()
    .describe(
      'GPUs of two kinds, and the seconds of the step that the faster wait; layers are those of the slower',
    ),
  asynchronous: z
    .object({
      staleness: amount.describe('Updates by others between a pull and a push'),
      bound: z.enum(['server', 'worker']),
      saturatesAt: orUnknown(amount).describe('GPUs from which the servers are the limit'),
    })
    .optional(),
  run: z
    .object({
      steps: amount,
      initialisation: orUnknown(amount).describe('Seconds before the first step'),
      loading: orUnknown(amount).describe('Of that, reading the data set'),
      time: amount.describe('Seconds in all'),
      price: orUnknown(amount).describe('US dollars'),
      offer: z
        .object({
          provider: z.string(),
          instance: z.string(),
          region: z.string(),
          kind: z.enum(priceKinds),
          date: z.string().describe('The newest day that the price is known to be of'),
          source: z.string(),
        })
        .optional()
        .describe('What the price is of; left out where a person gave it, or none is known'),
      energy: orUnknown(
        z.object({
          atMost: amount.describe('Joules of all GPUs, at most'),
          boardPower: amount.describe('Watts of one GPU, at most'),
          utilisation: amount.describe('Share of the step in which the GPU does not wait for its host'),
          pue: amount.describe('Power of the data centre over that of its computers'),
        }),
      ).describe(
        'Board power × utilisation × PUE × GPUs × time: an upper estimate, without hosts and network',
      ),
      exact: z
        .boolean()
        .describe('False where initialisation is not all known: time and price are lower bounds'),
    })
    .optional(),
  basis: z
    .object({ measured: amount, transferred: amount, assumed: amount })
    .optional()
    .describe(
      'Shares of the kernel time that rest on curves measured on this GPU, on those of another, on a roofline',
    ),
  exact: z.boolean().describe('False where some part is unknown: totals are then lower bounds'),
  unknown: z.array(
    z.object({
      operator: z.string(),
      reason: z.string(),
      since: z
        .string()
        .nullable()
        .describe('The layer where what is unknown begins; null where the reason is its own'),
      atMost: orUnknown(
        z.object({
          flops: z.object({ forward: amount, backward: amount }),
          operations: z.object({ forward: amount, backward: amount }),
        }),
      ).describe('The most it adds to the totals, whatever the data are; null where nothing bounds it'),
    }),
  ),
});

const layerSchema = z.object({
  name: z.string(),
  type: z.string(),
  operators: z.array(z.string()),
  parameters: count,
  output: z.object({
    shape: orUnknown(z.array(z.union([z.number(), z.string()]).nullable())).describe(
      'Numbers; a symbol without value by name; the most it can be, such as ≤300, where data decide; null where unknown',
    ),
    dtype: z.string(),
  }),
  flops: z.object({
    forward: orUnknown(amount),
    backwardData: orUnknown(amount),
    backwardWeight: orUnknown(amount),
  }),
  operations: z.object({ forward: orUnknown(amount), backward: orUnknown(amount) }),
  bytes: z.object({ forward: orUnknown(amount), backward: orUnknown(amount) }),
  time: z.object({
    forward: orUnknown(amount),
    backward: orUnknown(amount),
    communication: orUnknown(amount),
    exposedCommunication: orUnknown(amount),
    communicationSlack: orUnknown(amount).describe(
      'By how much its messages could arrive later without a longer step; null where it sends none',
    ),
  }),
  memory: z.object({ parameters: amount, activations: orUnknown(amount), gradient: amount }),
  bound: z.enum(['compute', 'instructions', 'memory', 'launch', 'none']),
  source: z.enum(['formula', 'profile', 'calibrated', 'measured', 'unknown']),
  range,
  exact: z
    .boolean()
    .describe('False where an operator of the layer has no known cost: numbers are lower bounds'),
});

const messageSchema = z.object({
  bytes: amount.describe('On the wire'),
  time: amount,
  exposed: orUnknown(amount).describe(
    'The part for which the GPU waits; null where work is unknown that may hide it',
  ),
  slack: orUnknown(amount).describe('By how much it could end later without a longer step'),
  layers: z.array(z.string()).describe('Whose gradients or parameters it carries'),
  description: z.string(),
});

const findingSchema = z.object({
  code: z.string(),
  severity: z.enum(['error', 'warning', 'information']),
  layer: z.string(),
  message: z.string(),
  fix: z.string(),
});

const parallelSchema = z
  .object({
    replicas: count.describe('Copies of the model, each with a part of the batch'),
    microBatches: count.describe('Of a copy in one step'),
    bubble: amount.describe('Seconds for which the stage that ends last waits for other stages'),
    tensorCommunication: amount.describe('Seconds of collectives of tensor parallelism in that stage'),
    contextCommunication: amount.describe(
      'Seconds of collectives of context parallelism in that stage that attention does not hide',
    ),
    expertCommunication: amount.describe('Seconds of all-to-alls of expert parallelism in that stage'),
    stages: z.array(
      z.object({
        rank: count.describe('Rank of the pipeline that computes it; from 0'),
        first: z.string().describe('Name of the first layer'),
        last: z.string().describe('Name of the last layer'),
        forward: amount.describe('Seconds for a micro-batch'),
        backward: amount.describe('Seconds for a micro-batch'),
        parameters: count.describe('Elements that one GPU of the stage trains'),
        alive: count.describe('Micro-batches whose activations are kept at most'),
        peak: amount.describe(
          'Bytes that tensors of one GPU need at once, those of other stages of its rank included',
        ),
        sent: amount.describe('Bytes that one GPU sends to the next stage for a micro-batch'),
      }),
    ),
    collectives: z
      .array(
        z.object({
          layer: z.string(),
          pass: z.enum(['forward', 'backward']),
          collective: z.string(),
          count: count.describe('For a micro-batch'),
          bytes: amount.describe('Of one'),
          time: amount.describe('Seconds of all of them that computing does not hide'),
          whole: amount.describe('Seconds of all of them'),
          description: z.string(),
        }),
      )
      .describe('What GPUs that share a layer or a sequence exchange, by the layer that needs it'),
    whole: z
      .array(z.object({ layer: z.string(), share: amount, reason: z.string() }))
      .describe(
        'Layers with products that each GPU computes whole, with their share of the FLOPs of forward',
      ),
  })
  .describe('How GPUs share a copy of the model; absent where each has a copy');

const decodingSchema = z
  .object({
    past: count.describe('Tokens in the cache of each sequence before the step'),
    prefill: z
      .object({
        tokens: orUnknown(count).describe('Tokens of the prompt; null where the model reads no tokens'),
        time: orUnknown(amount),
        range,
      })
      .describe('The pass over the prompt, in seconds'),
    bytesPerToken: amount.describe('Of one sequence: what another token adds while no window is full'),
    cache: amount.describe('Bytes of keys and values of all sequences of a GPU at this context'),
    fixed: amount.describe('Of these, keys and values of another sequence, such as an encoder’s'),
    largestBatch: orUnknown(count).describe('The largest batch of a GPU that fits at this context'),
    longestContext: orUnknown(count).describe(
      'The longest context that fits at this batch; null where windows keep the cache small at any',
    ),
  })
  .describe(
    'Of a decode step, one new token for each sequence: one replica per GPU, no continuous batching; absent in other steps',
  );

export const reportSchema = z
  .object({
    schemaVersion: z.literal(1),
    model: modelSchema,
    scenario: scenarioSchema,
    totals: totalsSchema,
    layers: z.array(layerSchema),
    messages: z
      .array(messageSchema)
      .optional()
      .describe('What workers exchange, in the order it is issued; absent where nothing is sent'),
    parallel: parallelSchema.optional(),
    decoding: decodingSchema.optional(),
    findings: z.array(findingSchema),
  })
  .describe('What a training step costs, per GPU and per step unless a name says otherwise');

/** Plain data that nobody changes: layers alike share what is the same of them. */
export type Report = DeepReadonly<z.infer<typeof reportSchema>>;
export type LayerReport = Report['layers'][number];
export type MessageReport = NonNullable<Report['messages']>[number];

type DeepReadonly<T> = T extends object ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> } : T;
