/**
 * What a training step costs: per layer and total. Predicted and measured cost share these types.
 *
 * A value that cannot be known is `null`, never 0; a total with an unknown part is a lower bound and
 * `totals.exact` is false.
 */

import type { DeviceNoun } from './deviceNoun.ts';
import type { Dimension } from './dimension.ts';
import type { ElementType } from './elementType.ts';
import type { Range } from './estimate.ts';
import type { Severity } from './issue.ts';
import type { IssueCode } from './issueCodes.ts';
import type { Price } from './price.ts';
import type { Precision, Scenario } from './scenario.ts';
import type { Bytes, Flops, Joules, Seconds, Watts } from './units.ts';

/** Its parts may be worked out when they are first read. */
export interface StepCost {
  readonly scenario: Scenario;
  readonly gpu: string;
  /** What the scenario counts as GPUs. */
  readonly device: DeviceNoun;
  readonly totals: TotalCost;
  readonly fits: Fit;
  /** Whether `fits` is `yes` or `may`, which is less work to find. */
  readonly mayFit: boolean;
  readonly layers: readonly LayerCost[];
  readonly findings: readonly Finding[];
  /** Of a step that decodes one token with a cache. */
  readonly decoding?: DecodeCost | undefined;
  /** Where several GPUs share a copy of the model. */
  readonly parallel?: ParallelCost;
  /** Gradient messages in the order they are sent; absent where nothing is sent. */
  readonly messages?: readonly MessageCost[] | undefined;
}

/** What a decode step adds to the cost of its graph: the pass over the prompt, and the cache. */
export interface DecodeCost {
  /** Tokens in the cache of each sequence before the step. */
  readonly past: number;
  /** The pass over a prompt, which fills the cache. */
  readonly prefill: {
    /** Tokens of the prompt. */
    readonly tokens: number | null;
    readonly time: Seconds | null;
    readonly range: Range<Seconds> | null;
  };
  /** Of one sequence: what another token adds, while no window is full. */
  readonly bytesPerToken: Bytes;
  /** Of all sequences of the batch. */
  readonly cache: Bytes;
  /** Of these, keys and values of another sequence, such as an encoder's. */
  readonly fixed: Bytes;
  /** The largest batch at this context, and the longest context at this batch, beside the weights; null where any fits. */
  readonly largestBatch: number | null;
  readonly longestContext: number | null;
}

/**
 * How GPUs share a copy of the model, and what that costs. Of a step with it, times are those of the stage of the pipeline that
 * ends last, and memory that of the GPU that needs the most.
 */
export interface ParallelCost {
  /** Copies of the model, each with a part of the batch. */
  readonly replicas: number;
  /** Of a copy in one step. */
  readonly microBatches: number;
  /** For which the stage that ends last waits for other stages. */
  readonly bubble: Seconds;
  /** Of collectives of tensor parallelism: nothing computes meanwhile. */
  readonly tensorCommunication: Seconds;
  /** Of collectives of context parallelism, without what attention hides. */
  readonly contextCommunication: Seconds;
  /** Of all-to-alls between the GPUs that share experts: nothing computes meanwhile. */
  readonly expertCommunication: Seconds;
  readonly stages: readonly StageCost[];
  readonly collectives: readonly LayerCollective[];
  /** Products with weights that each GPU of a group computes whole. */
  readonly whole: readonly WholeLayer[];
  readonly shardings: readonly LayerSharding[];
}

/** Of tensors of a micro-batch: activations from other layers, weights, and activations for other layers. */
export interface LayerSharding {
  readonly layer: string;
  readonly reads: readonly TensorSharding[];
  readonly holds: readonly TensorSharding[];
  readonly gives: readonly TensorSharding[];
}

export interface TensorSharding {
  readonly name: string;
  /** As the GPUs of a copy have it together. */
  readonly dimensions: readonly number[];
  /** GPUs that each dimension is divided over; 1 where each has all of it. */
  readonly ways: readonly number[];
}

export interface StageCost {
  /** Of the pipeline, that computes it. */
  readonly rank: number;
  /** Names of its first and last layer. */
  readonly first: string;
  readonly last: string;
  /** Of a micro-batch, with its collectives. */
  readonly forward: Seconds;
  readonly backward: Seconds;
  /** Elements that one of its GPUs trains. */
  readonly parameters: number;
  /** Micro-batches whose activations it keeps at most. */
  readonly alive: number;
  /** Of one of its GPUs, with the other stages of the rank. */
  readonly peak: Bytes;
  /** To the next stage, for one micro-batch. */
  readonly sent: Bytes;
}

/** The collectives of one kind that a layer needs for a micro-batch, each of so many bytes. */
export interface LayerCollective {
  readonly layer: string;
  readonly pass: 'forward' | 'backward';
  readonly collective: string;
  readonly count: number;
  readonly bytes: Bytes;
  /** Of all of them, without what computing hides. */
  readonly time: Seconds;
  /** Of all of them. */
  readonly whole: Seconds;
  readonly description: string;
}

export interface WholeLayer {
  readonly layer: string;
  /** Of the model's FLOPs of forward. */
  readonly share: number;
  readonly reason: string;
}

/** Whether a GPU has the memory of a step: 'may' where it hangs on what driver and framework take beside tensors. */
export type Fit = 'yes' | 'may' | 'no';

/** One gradient message: a bucket, a fused buffer or a tensor. */
export interface MessageCost {
  readonly bytes: Bytes;
  readonly time: Seconds;
  /** The part that computation does not hide. */
  readonly exposed: Seconds;
  /** By how much it could end later without the step taking longer. */
  readonly slack: Seconds;
  /** Layers whose gradients it carries, with their share of the bytes; indices into `StepCost.layers`. */
  readonly layers: readonly { readonly index: number; readonly bytes: Bytes }[];
  /** The layer whose backward completes it; index into `StepCost.layers`. */
  readonly readyAfter: number;
  /** Else it gathers, scatters, or goes through servers or the host. */
  readonly isAllReduce: boolean;
  /** "ring over NVLink 4 and NVSwitch, 8 GPUs, 412 GB/s bus bandwidth". */
  readonly description: string;
}

export interface TotalCost {
  readonly flops: { readonly forward: Flops; readonly backward: Flops };
  readonly time: {
    /** Reading, decoding and copying of a batch; null where it is not described. */
    readonly input: Seconds | null;
    /** The part for which the GPU waits. */
    readonly exposedInput: Seconds | null;
    readonly forward: Seconds | null;
    readonly backward: Seconds | null;
    readonly communication: Seconds | null;
    readonly exposedCommunication: Seconds | null;
    readonly update: Seconds | null;
    /** Of forward, backward and update: the GPU has nothing to run until the host has launched it. */
    readonly waitingForHost: Seconds | null;
    readonly step: Seconds | null;
    /** Low and high bound of `step`. */
    readonly range: Range<Seconds> | null;
    /** False where `step` is a lower bound: some work, or a part of the input that was asked for, is unknown. */
    readonly exact: boolean;
  };
  readonly memory: {
    readonly parameters: Bytes;
    readonly gradients: Bytes;
    readonly optimizerState: Bytes;
    readonly activations: Bytes;
    readonly workspace: Bytes;
    readonly communicationBuffers: Bytes;
    /** Keys and values of the context, in a decode step; at the peak they are among the activations. */
    readonly cache?: Bytes;
    /** The most that tensors need at once: what is allocated. */
    readonly peak: Bytes;
    /** What the framework's allocator takes from the GPU for it: at least, and where the GPU has all it asks for. */
    readonly reserved: Range<Bytes>;
    /** What driver and framework take beside it. */
    readonly context: Bytes;
    readonly capacity: Bytes | null;
    /** The largest batch of a GPU whose tensors fit; null where something is unknown, or nothing grows with the batch. */
    readonly largestBatch: number | null;
    readonly peakAt: PeakMemory;
  };
  /** Samples per second over all GPUs. */
  readonly throughput: number | null;
  /** Of a sample, where the model reads tokens. */
  readonly tokensPerSample?: number;
  /** Weak scaling: step time of a single GPU with the batch of a GPU, over step time here. */
  readonly scalingEfficiency: number | null;
  /** Strong scaling: throughput of a GPU over that of one with the whole batch; where a batch over all GPUs was asked for. */
  readonly strongScalingEfficiency: number | null;
  /** Clauses that explain it where it is more than 1, or a single GPU has no memory for the step. */
  readonly efficiencyNotes: readonly string[];
  /** Model FLOPs per second over the dense peak of the number type they run in. */
  readonly mfu: number | null;
  /** What the step is made of, and what of it keeps more GPUs from being faster. */
  readonly limit: StepLimit;
  /** Where the input is described. */
  readonly input?: InputCost;
  /** Where workers are unlike: the slowest over the average, and how much of the step is waiting for it. */
  readonly imbalance?: { readonly factor: number; readonly time: Seconds };
  /** Where GPUs are of two kinds; costs of layers are those of the slower. */
  readonly mixed?: MixedGpus;
  /** Of workers that do not wait for each other. */
  readonly asynchronous?: AsynchronousCost;
  /** Where a run is described. */
  readonly run?: RunCost;
  /** What kernel times rest on, as shares of their sum; absent where nothing is predicted. */
  readonly basis?: TimeShares;
  /** False where some part is unknown: totals are then lower bounds. */
  readonly exact: boolean;
  readonly unknown: readonly UnknownPart[];
}

/** What a step waits for beside computation, the largest part: 'compute' where all of that is small. */
export const stepLimits = [
  'compute',
  'host',
  'input',
  'latency',
  'communication',
  'server',
  'imbalance',
  'pipeline',
] as const;

export interface StepLimit {
  readonly kind: (typeof stepLimits)[number];
  /** Its share of the step. */
  readonly share: number;
}

/** Of one batch; null where it is not known. */
export interface InputCost {
  readonly storage: Seconds | null;
  readonly decoding: Seconds | null;
  readonly copying: Seconds;
  readonly slowest: 'storage' | 'decoding' | 'copying';
  /** Why parts that were asked for are not known. */
  readonly unknown: readonly string[];
  /** Parts that nobody described, which are not modelled. */
  readonly undescribed: readonly string[];
}

export interface MixedGpus {
  readonly slower: { readonly gpu: string; readonly count: number };
  readonly faster: { readonly gpu: string; readonly count: number };
  /** Of a step, for which the faster wait for the slower; 0 where nobody waits. */
  readonly time: Seconds;
}

export interface AsynchronousCost {
  /** Updates by others between a worker's pull and its push, on average. */
  readonly staleness: number;
  readonly bound: 'server' | 'worker';
  /** GPUs from which the servers are the limit; null where nothing goes through one. */
  readonly saturatesAt: number | null;
}

export interface RunCost {
  readonly steps: number;
  /** Before the first step; null where it is not known. */
  readonly initialisation: Seconds | null;
  /** Of that, reading the data set. */
  readonly loading: Seconds | null;
  readonly time: Seconds;
  /** US dollars; null without a price. */
  readonly price: number | null;
  /** What the price is of; absent where it is a person's own number, or unknown. */
  readonly offer?: NonNullable<Price['offer']>;
  /** Of the GPUs, at most; null where the power of a board, or what the GPU waits for, is not known. */
  readonly energy: RunEnergy | null;
  /** False where the initialisation is not all known: time and price are lower bounds. */
  readonly exact: boolean;
}

/** An upper estimate: GPUs seldom draw what their boards may, but a computer around them draws power too. */
export interface RunEnergy {
  readonly atMost: Joules;
  /** Of one GPU. */
  readonly boardPower: Watts;
  /** Share of the step in which the GPU does not wait for its host. */
  readonly utilisation: number;
  /** Power usage effectiveness: of the whole data centre over that of its computers. */
  readonly pue: number;
}

export interface TimeShares {
  /** Curves fitted to measurements on this GPU. */
  readonly measured: number;
  /** Curves of another GPU, of the same architecture or of another generation. */
  readonly transferred: number;
  /** A roofline with an assumed share. */
  readonly assumed: number;
}

export interface UnknownPart {
  readonly operator: string;
  readonly reason: string;
  /** The layer where what is unknown begins; `null` where it is unknown for a reason of its own. */
  readonly since: string | null;
  /** The most it adds to the totals, whatever the data are; `null` where nothing bounds it. */
  readonly atMost: WorkBound | null;
}

export interface WorkBound {
  readonly flops: { readonly forward: Flops; readonly backward: Flops };
  readonly operations: { readonly forward: number; readonly backward: number };
}

/** When the most memory is in use, at which layer, and for what: the parts add up to the peak. */
export interface PeakMemory {
  readonly phase: 'forward' | 'backward' | 'update';
  /** Empty in the update, and where no layer computes. */
  readonly layer: string;
  readonly parameters: Bytes;
  readonly gradients: Bytes;
  readonly optimizerState: Bytes;
  readonly activations: Bytes;
  readonly workspace: Bytes;
  readonly communicationBuffers: Bytes;
}

export type CostSource = 'formula' | 'profile' | 'calibrated' | 'measured' | 'unknown';
/** `instructions`: of kernels without matmuls that compute longer than memory moves their elements. */
export type BoundBy = 'compute' | 'instructions' | 'memory' | 'launch' | 'none';

export interface LayerCost {
  readonly name: string;
  readonly type: string;
  /** Names of the operators, in order; an unnamed operator is named by its first output. */
  readonly operators: readonly string[];
  /** Trainable elements, counted at the first layer that uses them. */
  readonly parameters: number;
  readonly output: { readonly shape: readonly Dimension[] | null; readonly elementType: ElementType };
  readonly flops: {
    readonly forward: Flops | null;
    readonly backwardData: Flops | null;
    readonly backwardWeight: Flops | null;
  };
  /** Element-wise work, shown apart from FLOPs. */
  readonly operations: { readonly forward: number | null; readonly backward: number | null };
  readonly bytes: { readonly forward: Bytes | null; readonly backward: Bytes | null };
  readonly time: {
    readonly forward: Seconds | null;
    readonly backward: Seconds | null;
    /** Of its kernels alone, where the host is always ahead of them; left out where nothing is known or it was measured. */
    readonly kernels?: { readonly forward: Seconds; readonly backward: Seconds };
    readonly communication: Seconds | null;
    readonly exposedCommunication: Seconds | null;
    /** By how much its gradient could arrive later without the step taking longer; null where nothing is sent. */
    readonly communicationSlack: Seconds | null;
  };
  readonly memory: {
    readonly parameters: Bytes;
    readonly activations: Bytes | null;
    readonly gradient: Bytes;
    readonly optimizerState: Bytes;
  };
  readonly bound: BoundBy;
  readonly source: CostSource;
  /** Low and high bound of forward plus backward time. */
  readonly range: Range<Seconds> | null;
  /** One phrase per number's origin, for hovers: "curves of A100 SXM 80 GB", "ring over NVLink, bucket 2 of 5". */
  readonly notes: readonly string[];
  /** Why a part is unknown. */
  readonly unknown?: string;
  /** The layer where what is unknown begins, where that is another one. */
  readonly unknownSince?: string;
}

export interface Finding {
  readonly code: IssueCode;
  readonly severity: Severity;
  /** Name of the layer; '' where it concerns the whole step. */
  readonly layer: string;
  /** What and why, with numbers. */
  readonly message: string;
  /** What to change; '' where nothing is known to help. */
  readonly fix: string;
  /** The same for a program that can make the change. */
  readonly change?: FindingChange;
}

/** One change of a model or scenario. */
export type FindingChange =
  | { readonly kind: 'batch'; readonly batch: number }
  | { readonly kind: 'precision'; readonly precision: Precision }
  | { readonly kind: 'freeze'; readonly patterns: readonly string[] }
  | { readonly kind: 'framework-option'; readonly name: string; readonly value: string };
