/** Work in steps, between which the server sees what arrived meanwhile, above all the next keystroke. */

import type { Steps } from '../model/steps.ts';

/** Runs the steps with a turn of the event loop after each; `undefined` where the work was superseded meanwhile. */
export async function runSteps<Result>(
  steps: Steps<Result>,
  nextTurn: () => Promise<void>,
  superseded: () => boolean,
): Promise<Result | undefined> {
  for (;;) {
    const step = steps.next();
    await nextTurn();
    if (superseded()) return undefined;
    if (step.done === true) return step.value;
  }
}

/** A turn of the event loop where the platform has nothing faster than a timer. */
export const turnOfTimer = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));
