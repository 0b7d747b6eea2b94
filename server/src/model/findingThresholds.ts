/**
 * Thresholds above which a finding is reported, one for each; users may set them.
 *
 * Fractions are of the step unless the documentation says otherwise. The defaults report what is worth a change of the
 * configuration, and nothing on a healthy one.
 */

export const findingThresholds = {
  'exposed-communication': {
    default: 0.03,
    documentation: 'fraction of the step spent waiting for gradients',
  },
  'late-gradient': {
    default: 0.25,
    documentation: 'fraction of all gradient bytes in one tensor that is ready only when backward ends',
  },
  'small-messages': {
    default: 0.5,
    documentation: 'fraction of communication time spent on start-up costs',
  },
  'server-saturated': {
    default: 0.8,
    documentation: 'fraction of the step in which the busiest parameter server is busy',
  },
  'serial-rank': {
    default: 0.05,
    documentation: 'fraction of the step in which every worker waits for the first one',
  },
  'low-efficiency': {
    default: 0.75,
    documentation: 'scaling efficiency below which GPUs are wasted',
  },
  'input-bound': {
    default: 0.05,
    documentation: 'fraction of the step spent waiting for samples to be read and decoded',
  },
  'copy-bound': {
    default: 0.05,
    documentation: 'fraction of the step spent waiting for samples to be copied to the GPU',
  },
  'load-imbalance': {
    default: 0.05,
    documentation: 'fraction of the step that workers wait for the slowest',
  },
  'slow-start': {
    default: 0.1,
    documentation: 'fraction of a whole run spent before its first step',
  },
  'launch-bound': {
    default: 0.2,
    documentation: 'fraction of the step in which the GPU waits for the host to launch kernels',
  },
  'pipeline-bubble': {
    default: 0.2,
    documentation: 'fraction of the step in which the last pipeline stage waits for others',
  },
  'uneven-stages': {
    default: 0.1,
    documentation: 'time of the longest pipeline stage over the mean, as a fraction of the mean',
  },
  'tensor-communication': {
    default: 0.2,
    documentation: 'fraction of the step spent in collectives of tensor parallelism',
  },
  'context-communication': {
    default: 0.1,
    documentation: 'fraction of the step that context parallelism exchanges and attention does not hide',
  },
  'expert-communication': {
    default: 0.2,
    documentation: 'fraction of the step spent in all-to-alls of expert parallelism',
  },
  'unsplit-layers': {
    default: 0.05,
    documentation: 'fraction of the FLOPs of forward that each GPU of a tensor parallel group computes whole',
  },
} as const satisfies Readonly<Record<string, { readonly default: number; readonly documentation: string }>>;

export type ThresholdName = keyof typeof findingThresholds;
/** Those a person set; the others have their defaults. */
export type Thresholds = Readonly<Partial<Record<ThresholdName, number>>>;

export const thresholdOf = (set: Thresholds | undefined, name: ThresholdName): number =>
  set?.[name] ?? findingThresholds[name].default;

export const isThresholdName = (name: string): name is ThresholdName =>
  Object.hasOwn(findingThresholds, name);

export const thresholdNames = Object.keys(findingThresholds).filter(isThresholdName);

/** Every threshold is a share. */
export const isShare = (value: number): boolean => value >= 0 && value <= 1;
