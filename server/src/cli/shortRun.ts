/**
 * Options of V8 for a process that is done within a quarter of a second: before optimized code pays, for which V8's own
 * measure, made for pages and servers, is too eager. What they are worth is measured by `npm run bench`.
 *
 * V8 renames its options, and prints an error of one that it does not know: a release of Node that was not tried gets none.
 * Source: `node --v8-options` of 20.20, 22.23, 24.21 and 26.10.
 */

/** `version` is that of Node: "20.20.2". */
export function optionsOfShortRun(version: string): readonly string[] {
  const major = Number(version.split('.')[0]);
  if (!triedReleases.includes(major)) return [];
  return major < 22 ? [...sinceNode20, lateOptimization] : sinceNode20;
}

const triedReleases: readonly number[] = [20, 22, 24, 26];

const sinceNode20: readonly string[] = [
  // What is warm gets machine code at once, not when enough has come together.
  '--no-baseline-batch-compilation',
  // Garbage is marked when memory has filled, not in small steps that nobody waits between.
  '--no-incremental-marking',
  // Young memory grows in two steps, not in four: what a run makes it mostly keeps, and copies at each step.
  '--semi-space-growth-factor=4',
];

/** Only what stays hot for long is optimized: a function runs 30 times as much bytecode before V8 looks whether to. */
const lateOptimization = '--interrupt-budget=2000000';

/**
 * Options for the first seconds of a server, and those that take them back: a third of the processor time until the first hints
 * of a large model was optimizing code that ran once, on cores that the editor needs to start. Source: `npm run bench`.
 */
export function optionsOfStart(version: string): {
  readonly first: readonly string[];
  readonly after: readonly string[];
} {
  const isKnown = Number(version.split('.')[0]) === 20;
  return isKnown ? { first: [lateOptimization], after: [usualOptimization] } : { first: [], after: [] };
}

/** Within which a first model is opened. */
export const secondsOfStart = 10;

/** The default of V8 11.3, of Node 20. */
const usualOptimization = '--interrupt-budget=67584';
