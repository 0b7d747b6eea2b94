/** The frameworks whose behaviour is built in, by name. */

import type { Issue } from '../model/issue.ts';
import { didYouMeanOneOf } from '../model/likelyNames.ts';
import type { FrameworkChoice } from '../model/scenario.ts';
import type { FrameworkBehaviour } from './behaviour.ts';
import { bytePs } from './bytePs.ts';
import { byteScheduler } from './byteScheduler.ts';
import { caffeMpi } from './caffeMpi.ts';
import { chainer } from './chainer.ts';
import { cntk } from './cntk.ts';
import { deepspeedZero } from './deepspeedZero.ts';
import { describedFramework } from './described.ts';
import type { FrameworkEntry } from './frameworkEntry.ts';
import { horovod } from './horovod.ts';
import { megatron } from './megatron.ts';
import { mgWfbp } from './mgWfbp.ts';
import { mxnet } from './mxnet.ts';
import { naive } from './naive.ts';
import type { OptimizerRules } from './optimizers/optimizerRules.ts';
import { type FrameworkOption, readOptions } from './options.ts';
import { pytorchDdp } from './pytorchDdp.ts';
import { pytorchDp } from './pytorchDp.ts';
import { pytorchFsdp } from './pytorchFsdp.ts';
import { tensorflow } from './tensorflow.ts';
import { torchtitan } from './torchtitan.ts';

export const frameworks: readonly FrameworkEntry[] = [
  pytorchDdp,
  pytorchFsdp,
  deepspeedZero,
  megatron,
  torchtitan,
  pytorchDp,
  horovod,
  mgWfbp,
  byteScheduler,
  bytePs,
  naive,
  caffeMpi,
  cntk,
  mxnet,
  tensorflow,
  chainer,
];

export const defaultFramework: FrameworkChoice = { name: 'pytorch-ddp', options: {} };

/** The built-in framework of a name, which people may write in capitals. */
export const findFramework = (name: string): FrameworkEntry | undefined =>
  frameworks.find((entry) => entry.name === name.trim().toLowerCase());

/** Which optimizers a framework runs. */
export const optimizerRules = ({ name, description }: FrameworkChoice): OptimizerRules =>
  (description === undefined ? findFramework(name) : describedFramework(description))?.optimizers ?? {};

/** Whether a built-in framework has an option: what a finding advises must be there to be set. */
export const hasOption = (framework: string, option: string): boolean =>
  findFramework(framework)?.options.some(({ name }) => name === option) === true;

/** Whether PyTorch computes the step, and not a system of the literature with kernels of its own. */
export const runsOnPytorch = ({ name, description }: FrameworkChoice): boolean =>
  description?.kernels === undefined
    ? hasOption(name, 'optimizer-kernels')
    : description.kernels === 'pytorch';

/** Whether a library may put layers of its own in the place of PyTorch's linear layers, as bitsandbytes does. */
export const takesOtherLinearLayers = (choice: FrameworkChoice): boolean =>
  runsOnPytorch(choice) && findFramework(choice.name)?.ownLinearLayers !== true;

/** Whether a framework takes a value of an option beside those that are set. */
export const takesOption = (choice: FrameworkChoice, option: string, value: string): boolean =>
  hasOption(choice.name, option) &&
  resolveFramework({ ...choice, options: { ...choice.options, [option]: value } }).issues.length === 0;

/** The values that an option of a built-in framework takes, where they can be listed; empty where it has no such option. */
export const choicesOf = (framework: string, option: string): readonly string[] =>
  findFramework(framework)?.options.find(({ name }) => name === option)?.expects.choices ?? [];

/** The behaviour a scenario asks for; an unknown name or option is reported and the default taken. */
export function resolveFramework(choice: FrameworkChoice): {
  readonly behaviour: FrameworkBehaviour;
  /** It cannot span nodes. */
  readonly oneNode: boolean;
  readonly trainsIn: FrameworkEntry['trainsIn'];
  readonly issues: readonly Issue[];
} {
  const { description } = choice;
  const entry = description === undefined ? findFramework(choice.name) : describedFramework(description);
  if (entry === undefined) {
    return {
      behaviour: createWith(pytorchDdp.options, pytorchDdp.create),
      oneNode: false,
      trainsIn: pytorchDdp.trainsIn,
      issues: choice.problems ?? [
        {
          code: 'scenario/unknown-framework',
          severity: 'error',
          message: `No framework is called \`${choice.name}\`${didYouMeanOneOf(choice.name, names)}; choose one of ${names.join(', ')}`,
          scenarioKey: 'framework',
          scenarioPart: 'name',
        },
      ],
    };
  }
  const { values, issues } = readOptions(entry.name, entry.options, choice.options);
  const { oneNode = false, trainsIn } = entry;
  const contradiction = entry.contradiction?.(values);
  return {
    behaviour: entry.create(values),
    oneNode,
    trainsIn,
    issues: contradiction === undefined ? issues : [...issues, invalidOptions(contradiction)],
  };
}

const invalidOptions = (message: string): Issue => ({
  code: 'scenario/invalid',
  severity: 'error',
  message,
  scenarioKey: 'framework',
});

/** The value that each option of a framework has in a scenario: what was asked for, else its default. */
export function optionValues(choice: FrameworkChoice): ReadonlyMap<string, string> {
  const { description } = choice;
  const entry = description === undefined ? findFramework(choice.name) : describedFramework(description);
  const { name, options } = entry ?? pytorchDdp;
  return readOptions(name, options, choice.options).values;
}

const names = frameworks.map(({ name }) => name);

const createWith = (options: readonly FrameworkOption[], create: FrameworkEntry['create']) =>
  create(new Map(options.map((option) => [option.name, option.default])));
