/**
 * What an estimate advises about the scenario, done, with what it saves: found by costing the step with it. A layer spec
 * says its scenario in its text; of other files it stands in the settings.
 */

import type { ModelEstimate } from '../estimate/estimateModel.ts';
import { narrowGradients } from '../estimate/findings/exposedCommunication.ts';
import { printFramework } from '../formats/frameworkText.ts';
import { hasOption } from '../frameworks/registry.ts';
import { gpuMemory, memoryText } from '../model/gpuMemory.ts';
import type { ScenarioChange } from '../model/scenarioChange.ts';
import { countErrors } from './countErrors.ts';
import type { Diagnostic } from './diagnostics.ts';
import { gainOf, throughputGainOf } from './fix.ts';

/** A finding, and how the step is costed with a change. `Way` is how a change is written. */
export interface Trial<Way> {
  readonly diagnostic: Pick<Diagnostic, 'code' | 'change'>;
  readonly before: ModelEstimate;
  /** The ways to write a change, the best first. */
  readonly ways: (change: ScenarioChange) => readonly Way[];
  readonly recost: (way: Way) => ModelEstimate;
}

/** What is done, and after a colon what that is worth. */
export interface CostedWay<Way> {
  readonly title: string;
  readonly way: Way;
}

/** The changes of the scenario that help with a finding, the advised one first. */
export function scenarioFixes<Way>(trial: Trial<Way>): readonly CostedWay<Way>[] {
  const { diagnostic } = trial;
  if (!diagnostic.code.startsWith('findings/')) return [];
  const advised = advisedChange(trial);
  switch (diagnostic.code) {
    case 'findings/out-of-memory':
      return [...advised, ...sharded(trial), ...checkpointed(trial)];
    case 'findings/late-gradient':
    case 'findings/exposed-communication':
      return [...advised, ...gradientOptions(trial)];
    case 'findings/launch-bound':
      return [...advised, ...compiled(trial)];
    default:
      return advised;
  }
}

function advisedChange<Way>(trial: Trial<Way>): readonly CostedWay<Way>[] {
  const { change } = trial.diagnostic;
  switch (change?.kind) {
    case 'batch':
      return batchChange(trial, change.batch);
    case 'precision':
      return costed(
        trial,
        { precision: change.precision },
        `Use ${change.precision}`,
        ({ scenario }) => scenario?.precision === change.precision,
      );
    case 'freeze':
      return costed(
        trial,
        { freeze: change.patterns },
        'Train the adapters alone',
        ({ scenario }) => scenario?.freeze !== undefined,
      );
    case 'framework-option':
      return optionChange(trial, change.name, change.value);
    case undefined:
      return [];
  }
}

/** The batch is written in the first way that has an effect. */
function batchChange<Way>(trial: Trial<Way>, batch: number): readonly CostedWay<Way>[] {
  const isDone = (after: ModelEstimate): boolean =>
    after.scenario?.batchPerGpu === batch && fits(trial, after);
  for (const way of trial.ways({ batch })) {
    const changes = costedWay(trial, way, `Use a batch of ${batch}`, isDone);
    if (changes.length > 0) return changes;
  }
  return [];
}

/** Buckets of another size, and gradients in half precision, where that makes the step shorter. */
function gradientOptions<Way>(trial: Trial<Way>): readonly CostedWay<Way>[] {
  const { scenario, cluster } = trial.before;
  if (scenario?.framework.name !== 'pytorch-ddp' || cluster === undefined) return [];
  const half = narrowGradients({ scenario, cluster });
  const narrow = half === undefined ? [] : optionChange(trial, 'gradient-dtype', half);
  const buckets = bucketSizes
    .flatMap((size) => {
      const [way] = trial.ways(withOption(trial, 'bucket-mb', String(size)));
      const step = (way && trial.recost(way).cost?.totals.time.step) ?? null;
      return step === null ? [] : [{ size, step }];
    })
    .sort((left, right) => left.step - right.step);
  const [best] = buckets;
  const before = trial.before.cost?.totals.time.step ?? null;
  const worthwhile = best !== undefined && before !== null && best.step < before * worthwhileStep;
  return [...narrow, ...(worthwhile ? optionChange(trial, 'bucket-mb', String(best.size)) : [])];
}

/** CUDA graphs launch all kernels at once, where the framework can compile. */
function compiled<Way>(trial: Trial<Way>): readonly CostedWay<Way>[] {
  const { name, options } = trial.before.scenario?.framework ?? { name: '', options: {} };
  const isAdvised = trial.diagnostic.change?.kind === 'framework-option';
  if (isAdvised || options.compile === 'max-autotune') return [];
  if (!hasOption(name, 'compile')) return [];
  return optionChange(trial, 'compile', 'reduce-overhead');
}

/** Of the step now: a smaller gain is not worth a line. */
const worthwhileStep = 0.99;

const bucketSizes = [5, 10, 50, 100, 200];

function optionChange<Way>(trial: Trial<Way>, name: string, value: string): readonly CostedWay<Way>[] {
  const isSet = ({ scenario }: ModelEstimate): boolean => scenario?.framework.options[name] === value;
  const changes = costed(trial, withOption(trial, name, value), optionTitle(name, value), isSet);
  return trial.before.scenario?.framework.options[name] === value ? [] : changes;
}

function optionTitle(name: string, value: string): string {
  switch (name) {
    case 'bucket-mb':
      return `Use buckets of ${value} MiB`;
    case 'fusion-mb':
      return `Use a fusion buffer of ${value} MiB`;
    case 'gradient-dtype':
      return `Send gradients as ${value}`;
    case 'compile':
      return `Compile the model (${value})`;
    default:
      return `Use ${name}=${value}`;
  }
}

function withOption<Way>({ before }: Trial<Way>, name: string, value: string): ScenarioChange {
  const framework = before.scenario?.framework ?? { name: 'pytorch-ddp', options: {} };
  const options = { ...framework.options, [name]: value };
  return { framework: printFramework({ ...framework, options }) };
}

/** Every GPU keeps a part of parameters, gradients and optimizer state, where the step fits then. */
function sharded<Way>(trial: Trial<Way>): readonly CostedWay<Way>[] {
  const { scenario } = trial.before;
  if (scenario?.framework.name !== 'pytorch-ddp' || scenario.gpus === 1) return [];
  return costed(trial, { framework: 'pytorch-fsdp' }, 'Use FSDP', (after) => fits(trial, after));
}

/** Blocks that keep less, where the step fits then. */
function checkpointed<Way>(trial: Trial<Way>): readonly CostedWay<Way>[] {
  if ((trial.before.scenario?.checkpoint ?? 'none') !== 'none') return [];
  return (['selective', 'block'] as const).flatMap((checkpoint) =>
    costed(
      trial,
      { checkpoint },
      checkpoint === 'block' ? 'Checkpoint blocks' : 'Checkpoint blocks selectively',
      (after) => after.scenario?.checkpoint === checkpoint && fits(trial, after),
    ),
  );
}

/** Whether the finding is gone. */
const fits = <Way>({ diagnostic }: Trial<Way>, { cost }: ModelEstimate): boolean =>
  cost?.findings.every(({ code }) => code !== diagnostic.code) === true;

/** The change in the first way, if the step is then as it should be and has no new errors. */
function costed<Way>(
  trial: Trial<Way>,
  change: ScenarioChange,
  what: string,
  isDone: (estimate: ModelEstimate) => boolean,
): readonly CostedWay<Way>[] {
  const [way] = trial.ways(change);
  return way === undefined ? [] : costedWay(trial, way, what, isDone);
}

function costedWay<Way>(
  trial: Trial<Way>,
  way: Way,
  what: string,
  isDone: (estimate: ModelEstimate) => boolean,
): readonly CostedWay<Way>[] {
  const after = trial.recost(way);
  if (!isDone(after) || countErrors(after) > countErrors(trial.before)) return [];
  const gain = worth(trial, after);
  return isLoss(gain) ? [] : [{ title: titled(what, gain), way }];
}

/** Advice that makes things worse here, or no better, is none. */
const isLoss = (gain: string): boolean => / slower,| fewer samples|^as fast as now$/.test(gain);

const memoryFindings: ReadonlySet<string> = new Set([
  'findings/out-of-memory',
  'findings/little-memory-left',
  'findings/buffers-out-of-memory',
]);

/** What the change is worth, in the terms of what it is against. */
function worth<Way>(trial: Trial<Way>, after: ModelEstimate): string {
  const { diagnostic } = trial;
  const before = trial.before.cost;
  if (memoryFindings.has(diagnostic.code)) {
    if (after.cost === undefined) return '';
    const memory = gpuMemory(after.cost);
    return memory.capacity === null ? '' : memoryText(memory);
  }
  return before?.scenario.batchPerGpu === after.cost?.scenario.batchPerGpu
    ? gainOf(before, after.cost)
    : throughputGainOf(before, after.cost);
}

const titled = (what: string, gain: string): string => (gain === '' ? what : `${what}: ${gain}`);
