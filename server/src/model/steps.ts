/**
 * Work in steps. Whoever runs it may turn to something else between two of them, or stop: a server looks for the next
 * keystroke. What is computed is the same, and everything stays synchronous within a step.
 */

export type Steps<Result> = Generator<void, Result, void>;

/** Runs all steps at once. */
export function finish<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
