/** What copies of a model may do with their weights and updates: the frameworks that a search takes where nobody names one. */

import { findFramework } from '../../frameworks/registry.ts';
import type { FrameworkChoice, PipelineScheduleName } from '../../model/scenario.ts';
import type { Checkpointing } from './layoutCandidate.ts';

/** Each copy keeps and updates all of it. */
export const copies: FrameworkChoice = { name: 'pytorch-ddp', options: {} };
export const shardedUpdate = { name: 'deepspeed-zero', options: { stage: '1' } } as const;
export const shardedWeights: FrameworkChoice = { name: 'pytorch-fsdp', options: {} };

/** Copies that share the update, with what hides their exchange. */
export const megatronCopies: FrameworkChoice = {
  name: 'megatron',
  options: {
    'distributed-optimizer': 'true',
    'overlap-grad-reduce': 'true',
    'overlap-param-gather': 'true',
  },
};

export const sharesUpdate = ({ name, options }: FrameworkChoice): boolean =>
  (name === shardedUpdate.name && options.stage === shardedUpdate.options.stage) ||
  (name === megatronCopies.name && options['distributed-optimizer'] === 'true');

/** Beside a pipeline its FSDP keeps the weights of a block whole, and shares their update. It has the schedules of PyTorch. */
const pipelinesOfPytorch: FrameworkChoice = { name: 'torchtitan', options: {} };

/** What runs a pipeline with this schedule as the framework does with 1F1B; `undefined` where nothing does. */
export const runnerOf = (
  framework: FrameworkChoice,
  schedule: PipelineScheduleName,
  isLanguageModel: boolean,
): FrameworkChoice | undefined =>
  [framework, ...(isLanguageModel && sharesUpdate(framework) ? [pipelinesOfPytorch] : [])].find(
    ({ name }) => findFramework(name)?.layout?.schedules?.includes(schedule) !== false,
  );

/** What a framework's own selective checkpointing keeps. */
export const selectionOf = ({ name }: FrameworkChoice): Checkpointing => ownSelection[name] ?? 'selective';

const ownSelection: Readonly<Record<string, Checkpointing>> = {
  megatron: 'attention',
  torchtitan: 'alternate',
};
