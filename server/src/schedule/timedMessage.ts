import type { Seconds } from '../model/units.ts';

/**
 * Work is counted through the step: forward, then backward in the order it runs, then the update; −1 is the start of
 * the step. A message may start after its `after` has ended; `before` waits for it, in the next step where it does not
 * come after `after`.
 */
export interface TimedMessage {
  readonly after: number;
  readonly before: number;
  /** Steps more that what waits goes on without it. */
  readonly stepsLater: number;
  readonly priority: number;
  readonly stages: readonly { readonly channel: number; readonly time: Seconds }[];
  /** Share of the update that runs when it has arrived, apart from the rest. */
  readonly updateShare: number;
  /** Share of the launches of the update that the host makes for it; left out, as `updateShare`. */
  readonly launchShare?: number;
}
