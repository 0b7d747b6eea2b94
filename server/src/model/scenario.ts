/** Everything outside the model that fixes a cost. */

import type { BlockFormat } from './blockFormat.ts';
import type { Thresholds } from './findingThresholds.ts';
import type { FrameworkDescription } from './frameworkDescription.ts';
import type { Issue } from './issue.ts';
import type { Offer, Price, PriceKind } from './price.ts';
import type { ScenarioKey } from './scenarioKey.ts';
import type { Bytes, BytesPerSecond, Seconds } from './units.ts';

export const precisions = ['fp32', 'tf32', 'fp16', 'bf16', 'fp8', 'nvfp4'] as const;
/** `fp16` and `bf16` mean mixed precision as frameworks do it: autocast, fp32 master weights. */
export type Precision = (typeof precisions)[number];

export const optimizers = [
  'sgd',
  'momentum',
  'adam',
  'adamw',
  'adamw-8bit',
  'adagrad',
  'rmsprop',
  'adafactor',
  'lion',
  'lamb',
  'muon',
  'none',
] as const;
export type Optimizer = (typeof optimizers)[number];

/**
 * What training keeps of a repeated block for backward, which computes the rest again:
 *
 * - `none`: all that backward needs;
 * - `block`: what goes in (torch.utils.checkpoint around each block);
 * - `selective`: what goes in, and what its products and attention give, which cost the most to compute again;
 * - `alternate`: as `selective`, but of the matrix products every second one (torchtitan's `selective` with option `op`);
 * - `alternate-block`: as `block` in every second block, and all in the others (torchtitan's `selective` with option `2`);
 * - `attention`: all but what the core of attention makes between queries, keys and values and its result (Megatron-LM's
 *   `--recompute-granularity selective`: Korthikanti et al., arXiv:2205.05198, section 5).
 */
export const checkpoints = [
  'none',
  'block',
  'selective',
  'alternate',
  'alternate-block',
  'attention',
] as const;
export type Checkpoint = (typeof checkpoints)[number];

/**
 * The loss of a step whose model has none: `auto` is cross-entropy behind outputs that are certainly the logits of
 * tokens, `cross-entropy` behind the last output that has classes, `with-logits` is cross-entropy in fp32 that the model
 * returns with its logits, `with-logits-uncast` the same of logits in their own type, `none` is no loss.
 */
export const lossChoices = ['auto', 'cross-entropy', 'with-logits', 'with-logits-uncast', 'none'] as const;
export type LossChoice = (typeof lossChoices)[number];

export const modes = ['training', 'inference'] as const;
export type Mode = (typeof modes)[number];

export interface FrameworkChoice {
  /** Of a built-in behaviour, or the path of a file that describes one. */
  readonly name: string;
  readonly options: Readonly<Record<string, string>>;
  /** What the file says, once it is read. */
  readonly description?: FrameworkDescription;
  /** Why it says nothing that can be used. */
  readonly problems?: readonly Issue[];
}

/** Names of behaviours have neither slashes nor an ending. */
export const isFrameworkPath = (name: string): boolean => /[\\/]|\.(?:ya?ml|json)$/i.test(name);

/** How samples come to the GPUs. What is left out is not modelled. */
export interface InputScenario {
  /** Of one sample as it is stored. */
  readonly sampleBytes?: Bytes;
  /** Samples per second that one core of the host decodes and augments. */
  readonly decodeRate?: number;
  /** Which storage of the cluster; left out, the shared one where there is one. */
  readonly source?: 'local' | 'shared';
  /** Of one node, in the place of what the cluster says. */
  readonly readRate?: BytesPerSecond;
}

/** How alike the workers are: a synchronous step waits for the slowest. */
export interface WorkersScenario {
  /** Time of the slowest over the average. */
  readonly imbalance?: number;
  /** Standard deviation over the average, of times that are normally distributed. */
  readonly spread?: number;
  /** Time of one worker over that of the others. */
  readonly straggler?: number;
  /** Some GPUs are not those of the cluster. */
  readonly others?: OtherGpus;
}

export interface OtherGpus {
  /** Name of a built-in profile. */
  readonly gpu: string;
  readonly count: number;
}

/** A whole training run. */
export interface RunScenario {
  readonly samples: number;
  readonly epochs: number;
  /** Before the first step, reading apart; left out, unknown. */
  readonly start?: Seconds;
  /** Left out, unknown. */
  readonly price?: Price;
  /** Power of the whole data centre over that of its computers. */
  readonly pue?: number;
}

/** What a person asks of a run. */
export interface RunRequest extends Omit<RunScenario, 'price'> {
  /** US dollars per GPU-hour, the kind of price to look up, or one that was looked up before; left out, on demand. */
  readonly price?: number | PriceKind | Price;
}

/** LoRA: low-rank adapters that are trained beside linear layers, instead of these. */
export interface LowRankAdapters {
  readonly rank: number;
  /** Paths of layers, or their ends, with `*` for any characters; left out: all but those that give the scores. */
  readonly layers?: readonly string[];
  /** Of what goes into an adapter; left out: 0. */
  readonly dropout?: number;
  /** Format of the linear layers that are frozen; left out: that of other weights. */
  readonly base?: BlockFormat;
}

/** How several GPUs share one copy of the model; the GPUs that are left share the batch, as the framework says. */
export interface ParallelScenario {
  /** GPUs that share each layer. */
  readonly tensor: number;
  /** Between the layers they share, tensors are split along the sequence over the same GPUs. */
  readonly sequence: boolean;
  /** Ranks of the pipeline, which the layers are divided among. */
  readonly pipeline: number;
  /** Stages of the model on each of them. */
  readonly chunks: number;
  /** What is gathered along the sequence before a product: kept for backward, or gathered again there. */
  readonly gathered: GatheredTensors;
  /** GPUs that share each sequence: every layer is split along it, attention exchanges keys and values. */
  readonly context: number;
  readonly contextExchange: ContextExchange;
  /** GPUs that share the experts of a mixture, each with samples or positions of its own; 1: each has all. */
  readonly expert: number;
  /** Rows that the GPU with the busiest experts computes over the mean; 1: experts are chosen equally often. */
  readonly expertImbalance: number;
  readonly schedule: PipelineScheduleName;
  readonly stages: StageCut;
}

/** GPUs that share a copy of the model. */
export const gpusPerCopy = ({
  tensor,
  context,
  pipeline,
}: Pick<ParallelScenario, 'tensor' | 'context' | 'pipeline'>): number => tensor * context * pipeline;

/**
 * In which order a stage computes its micro-batches: all forwards first, or a forward and a backward in turn; the next two with
 * several stages on each rank. The others do backward in two parts, so that gradients of weights fill bubbles; the last four with
 * two stages on each rank, in a V.
 */
export const pipelineSchedules = [
  'gpipe',
  '1f1b',
  'interleaved-1f1b',
  'looped-bfs',
  'zb-h1',
  'zb-h2',
  'zb-v',
  'v-half',
  'v-min',
  'dualpipe-v',
] as const;
export type PipelineScheduleName = (typeof pipelineSchedules)[number];

/** PyTorch keeps what a product reads; Megatron-LM keeps a GPU's own part and gathers again, for a collective more. */
export const gatheredTensors = ['keep', 'again'] as const;
export type GatheredTensors = (typeof gatheredTensors)[number];

/**
 * How attention meets the positions of other GPUs: keys and values go round in a ring (Megatron-LM's `p2p`), are gathered
 * (`all_gather`), or heads are exchanged for positions (`a2a`, DeepSpeed-Ulysses).
 */
export const contextExchanges = ['ring', 'all-gather', 'all-to-all'] as const;
export type ContextExchange = (typeof contextExchanges)[number];

/** Stages of like time, of as many blocks each, or of a block less in the first and the last. */
export const stageCuts = ['balanced', 'uniform', 'torchtitan'] as const;
/** Numbers: how many blocks each stage has, in the order of the model. */
export type StageCut = (typeof stageCuts)[number] | readonly number[];

export interface Scenario {
  /** Name of a built-in cluster or GPU profile, or of the profile read from a file. */
  readonly cluster: string;
  readonly nodes: number;
  /** GPUs in all. */
  readonly gpus: number;
  /** Samples of one pass forward and backward; of the busiest GPU, where a batch over all GPUs does not divide. */
  readonly batchPerGpu: number;
  /** Over all GPUs and passes, where it was asked for. */
  readonly globalBatch?: number;
  /** Passes of one step, whose gradients are added up; left out: 1. */
  readonly accumulate?: number;
  /** Values of symbolic dimensions, the batch included once it is bound. */
  readonly dimensions: Readonly<Record<string, number>>;
  readonly precision: Precision;
  readonly optimizer: Optimizer;
  readonly framework: FrameworkChoice;
  readonly mode: Mode;
  /** In inference: tokens in the cache of attention, where a decode step is costed; left out, a pass without a cache. */
  readonly past?: number;
  /** Left out: each GPU has a copy of the model. */
  readonly parallel?: ParallelScenario;
  /** Of a worker of one stage of a pipeline, where a layout is planned stage by stage. */
  readonly pipelined?: true;
  /** Left out: what the marks of layers say, and else `none`. */
  readonly checkpoint?: Checkpoint;
  /** Left out: `auto`. */
  readonly loss?: LossChoice;
  /** Patterns of parameters that are not trained; left out: all are that the model trains, with `lora` none but adapters. */
  readonly freeze?: readonly string[];
  readonly lora?: LowRankAdapters;
  /** Replaces predicted compute of the whole step by a measured time. */
  readonly measuredStep?: Seconds;
  /** From where on something is a finding, where a person set it. */
  readonly thresholds?: Thresholds;
  readonly input?: InputScenario;
  readonly workers?: WorkersScenario;
  readonly run?: RunScenario;
}

/** What a person gave: command line, settings or the layer spec; the rest is filled from defaults. */
export interface ScenarioRequest extends Partial<Record<ScenarioKey, unknown>> {
  readonly cluster?: string;
  readonly nodes?: number;
  readonly gpus?: number;
  readonly batch?: number;
  /** Over all GPUs and passes: each takes its share. */
  readonly globalBatch?: number;
  readonly accumulate?: number;
  readonly dimensions?: Readonly<Record<string, number>>;
  readonly precision?: Precision;
  readonly optimizer?: Optimizer;
  readonly framework?: FrameworkChoice;
  readonly mode?: Mode;
  readonly past?: number;
  readonly checkpoint?: Checkpoint;
  readonly parallel?: ParallelRequest;
  readonly loss?: LossChoice;
  readonly freeze?: readonly string[];
  readonly lora?: LowRankAdapters;
  readonly measuredStep?: Seconds;
  readonly thresholds?: Thresholds;
  readonly input?: InputScenario;
  readonly workers?: WorkersScenario;
  readonly run?: RunRequest;
  /** Of the place the request comes from, not of the model. */
  readonly market?: Market;
}

/** What prices are looked up by beside those that are built in. */
export interface Market {
  /** A person's own offers, which go before the built-in ones. */
  readonly offers: readonly Offer[];
  /** The day of the request, "2026-03-01": prices age. */
  readonly today: string;
}

/** What a person asks of parallelism: degrees left out are 1. */
export interface ParallelRequest extends Partial<Omit<ParallelScenario, 'stages'>> {
  /** Names: of the blocks that the stages behind the first begin with. */
  readonly stages?: StageCut | readonly string[];
  /** Samples of one pass of one copy of the model; passes follow from the batch over all GPUs. */
  readonly microBatch?: number;
}
