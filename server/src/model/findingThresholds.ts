/**
 * From where on something is a finding: one number for each, which a person may set.
 *
 * Shares are of the step unless the documentation says otherwise. The defaults report what a person would change a
 * configuration for, and nothing on one that is healthy.
 */

export const findingThresholds = {
  'exposed-communication': {
    default: 0.03,
    documentation: 'share of the step that waits for gradients',
  },
  'late-gradient': {
    default: 0.25,
    documentation: 'share of all gradient bytes in one tensor that is ready only as backward ends',
  },
  'small-messages': {
    default: 0.5,
    documentation: 'share of the communication time that start-up costs take',
  },
  'launch-bound': {
    default: 0.2,
    documentation: 'share of the step in which the GPU waits for the host to launch kernels',
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
