/** A framework's behaviour as a person describes it in a file, with what was left out filled in. */

export interface FrameworkDescription {
  readonly name: string;
  readonly title: string;
  /** Whose kernels: eager PyTorch's, or those of the frameworks of cuDNN 5 to 7. */
  readonly kernels: 'pytorch' | 'cudnn-era';
  readonly gradients: {
    readonly messages: 'buckets' | 'tensors' | 'layers' | 'one';
    readonly bucketMiB: number;
    readonly firstBucketMiB: number;
    /** Larger messages go in parts of so many MiB. */
    readonly partMiB: number | undefined;
    /** On the wire; as they are where it is left out. */
    readonly bytesPerElement: number | undefined;
    readonly send: 'when-ready' | 'after-backward';
    readonly over: 'all-reduce' | 'parameter-servers' | 'reduce-and-broadcast';
    readonly library: 'nccl' | 'open-mpi' | 'mpich';
    /** Reduce within each node first, then between nodes. */
    readonly hierarchical: boolean;
    readonly order: 'first-come' | 'by-priority';
    readonly neededBy: 'update' | 'next-use';
    readonly everySteps: number;
    readonly stepsLater: number;
  };
  readonly servers: {
    /** As many as nodes where it is left out. */
    readonly count: number | undefined;
    readonly colocated: boolean;
    readonly splitFromElements: number | undefined;
    readonly asynchronous: boolean;
  };
  readonly update: 'after-all' | 'as-they-arrive' | 'at-servers';
  readonly input: {
    readonly ahead: 'nothing' | 'reading' | 'reading-and-copying';
    readonly reads: 'own-share' | 'everything';
    readonly pipelined: boolean;
  };
}
