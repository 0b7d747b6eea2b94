/** What a rank of a pipeline does, as data. */

export interface PipelineAction {
  /** Backward may be done in two parts: gradients of inputs, which the stage before waits for, and those of weights. */
  readonly pass: 'forward' | 'backward' | 'backward-input' | 'backward-weight';
  readonly stage: number;
  readonly microBatch: number;
}

/** By rank. */
export type PipelineSchedule = readonly (readonly PipelineAction[])[];

export interface PipelineShape {
  readonly ranks: number;
  readonly microBatches: number;
  /** Stages of each rank. */
  readonly chunks: number;
}
