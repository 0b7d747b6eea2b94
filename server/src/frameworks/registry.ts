/** The frameworks whose behaviour is built in, by name. */

import type { Issue } from '../model/issue.ts';
import type { FrameworkChoice } from '../model/scenario.ts';
import type { FrameworkBehaviour } from './behaviour.ts';
import { horovod, horovodOptions } from './horovod.ts';
import { naive } from './naive.ts';
import { type FrameworkOption, readOptions } from './options.ts';
import { eagerOptions, pytorchDdp, pytorchDdpOptions } from './pytorchDdp.ts';

export interface FrameworkEntry {
  readonly name: string;
  /** One line for completions and help. */
  readonly documentation: string;
  readonly options: readonly FrameworkOption[];
  readonly create: (options: ReadonlyMap<string, string>) => FrameworkBehaviour;
}

export const frameworks: readonly FrameworkEntry[] = [
  {
    name: 'pytorch-ddp',
    documentation: 'PyTorch DistributedDataParallel: gradient buckets all-reduced during backward',
    options: pytorchDdpOptions,
    create: pytorchDdp,
  },
  {
    name: 'horovod',
    documentation: 'Horovod over PyTorch: gradients fused into one buffer, all-reduced during backward',
    options: horovodOptions,
    create: horovod,
  },
  {
    name: 'naive',
    documentation: 'naive synchronous SGD: one all-reduce after backward, nothing overlapped',
    options: eagerOptions,
    create: naive,
  },
];

export const defaultFramework: FrameworkChoice = { name: 'pytorch-ddp', options: {} };

/** The behaviour a scenario asks for; an unknown name or option is reported and the default taken. */
export function resolveFramework(choice: FrameworkChoice): {
  readonly behaviour: FrameworkBehaviour;
  readonly issues: readonly Issue[];
} {
  const entry = frameworks.find((candidate) => candidate.name === choice.name.toLowerCase());
  if (entry === undefined) {
    return {
      behaviour: createWith(pytorchDdpOptions, pytorchDdp),
      issues: [
        {
          code: 'scenario/unknown-framework',
          severity: 'error',
          message: `No framework is called \`${choice.name}\`; choose one of ${frameworks.map(({ name }) => name).join(', ')}`,
        },
      ],
    };
  }
  const { values, issues } = readOptions(entry.name, entry.options, choice.options);
  return { behaviour: entry.create(values), issues };
}

const createWith = (options: readonly FrameworkOption[], create: FrameworkEntry['create']) =>
  create(new Map(options.map((option) => [option.name, option.default])));
