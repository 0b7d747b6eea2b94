/** `layercost plan FILE --gpus 64 --global-batch 512`: what is fixed; degrees, micro-batch and checkpointing are searched. */

import { planGoals } from '../estimate/planner/chooseLayout.ts';
import { chosen, positiveNumber, WrongArgument, wholeNumber } from './optionValues.ts';
import { parseOptions } from './parseOptions.ts';
import type { AskedGoal } from './plan/renderGoal.ts';
import { readScenario, type ScenarioArguments, scenarioOptions } from './scenarioArguments.ts';

export interface PlanArguments {
  readonly command: 'plan';
  readonly file: string;
  /** Ascending. */
  readonly gpus: readonly number[];
  readonly scenario: ScenarioArguments;
  readonly goal: AskedGoal;
  readonly top: number;
  readonly format: 'table' | 'json';
  readonly output: string | undefined;
}

export function readPlanArguments(rest: readonly string[]): PlanArguments {
  const { values, positionals } = parseOptions(rest, {
    ...scenarioOptions,
    goal: { type: 'string' },
    deadline: { type: 'string' },
    top: { type: 'string' },
    format: { type: 'string' },
    output: { type: 'string' },
  });
  const [file, extra] = positionals;
  if (file === undefined || extra !== undefined)
    throw new WrongArgument('layercost plan takes one model file');
  const searched = (['parallel', 'batch', 'accumulate', 'nodes'] as const).find(
    (name) => values[name] !== undefined,
  );
  if (searched !== undefined)
    throw new WrongArgument(
      `--${searched} is searched by layercost plan; leave it out, or use layercost report`,
    );
  if (values['global-batch'] === undefined)
    throw new WrongArgument('layercost plan needs --global-batch N, the samples of a step over all GPUs');
  if (values.gpus === undefined)
    throw new WrongArgument('layercost plan needs --gpus N, or a list such as --gpus 8,16,32,64');
  const gpus = values.gpus.split(',').map((text) => wholeNumber('--gpus', text.trim(), 1));
  const deadline = positiveNumber('--deadline', values.deadline);
  if (deadline !== undefined && values.run === undefined)
    throw new WrongArgument('--deadline is one of a whole run; add --run samples=N');
  return {
    command: 'plan',
    file,
    gpus: [...new Set(gpus.filter((count) => count !== undefined))].sort((one, other) => one - other),
    scenario: readScenario(values, undefined),
    goal: {
      goal: chosen('--goal', values.goal, planGoals) ?? 'fastest',
      ...(deadline === undefined ? {} : { deadline: 3600 * deadline }),
    },
    top: wholeNumber('--top', values.top, 1) ?? 8,
    format: chosen('--format', values.format, ['table', 'json']) ?? 'table',
    output: values.output,
  };
}
