/** What each key of a `scenario` takes that is written as one word or number. */

import {
  isShare,
  isThresholdName,
  type ThresholdName,
  type Thresholds,
  thresholdNames,
} from '../../model/findingThresholds.ts';
import { didYouMean, nearestName } from '../../model/nearestName.ts';
import { meantPrecision } from '../../model/precisionNames.ts';
import {
  checkpoints,
  lossChoices,
  modes,
  optimizers,
  precisions,
  type ScenarioRequest,
} from '../../model/scenario.ts';
import type { LayoutRequest } from '../layouts/degrees.ts';
import { readLayoutText } from '../layouts/readLayoutText.ts';
import {
  type GroupResult,
  readInputGroup,
  readLoraGroup,
  readPatterns,
  readRunGroup,
  readWorkersGroup,
} from '../scenarioGroups.ts';
import type { scenarioKeys } from './scenarioKeys.ts';

/** A value as it is written behind a key. */
export interface WrittenValue {
  readonly key: string;
  readonly content: string | number;
  readonly report: (message: string) => void;
}

/** A scenario while it is read, with the layout that its parallel key says. */
export type ScenarioDraft = {
  -readonly [Key in keyof ScenarioRequest]: ScenarioRequest[Key];
} & { layout?: LayoutRequest };

type Reader = (scenario: ScenarioDraft, written: WrittenValue) => void;

/** Sets what a value says; one that a key does not take sets nothing, and is reported. */
const readers: Readonly<Record<Exclude<keyof typeof scenarioKeys, 'framework'>, Reader>> = {
  cluster: (scenario, { content }) => assign(scenario, 'cluster', String(content)),
  nodes: (scenario, written) => assign(scenario, 'nodes', countOf(written)),
  gpus: (scenario, written) => assign(scenario, 'gpus', countOf(written)),
  batch: (scenario, written) => assign(scenario, 'batch', countOf(written)),
  'global-batch': (scenario, written) => assign(scenario, 'globalBatch', countOf(written)),
  accumulate: (scenario, written) => assign(scenario, 'accumulate', countOf(written)),
  past: (scenario, written) => assign(scenario, 'past', countOf(written)),
  precision: (scenario, written) =>
    assign(scenario, 'precision', chosen(precisions, written, meantPrecision(String(written.content)))),
  optimizer: (scenario, written) => assign(scenario, 'optimizer', chosen(optimizers, written)),
  mode: (scenario, written) => assign(scenario, 'mode', chosen(modes, written)),
  checkpoint: (scenario, written) => assign(scenario, 'checkpoint', chosen(checkpoints, written)),
  loss: (scenario, written) => assign(scenario, 'loss', chosen(lossChoices, written)),
  parallel: (scenario, written) => {
    delete scenario.layout;
    assign(scenario, 'layout', accepted(readLayoutText(String(written.content)), written));
  },
  input: (scenario, written) =>
    assign(scenario, 'input', accepted(readInputGroup(String(written.content)), written)),
  workers: (scenario, written) =>
    assign(scenario, 'workers', accepted(readWorkersGroup(String(written.content)), written)),
  run: (scenario, written) =>
    assign(scenario, 'run', accepted(readRunGroup(String(written.content)), written)),
  freeze: (scenario, { content }) => assign(scenario, 'freeze', readPatterns(String(content))),
  lora: (scenario, written) =>
    assign(scenario, 'lora', accepted(readLoraGroup(String(written.content)), written)),
  thresholds: (scenario, { content, report }) =>
    assign(scenario, 'thresholds', readThresholds(String(content), report)),
};

export function readValue(scenario: ScenarioDraft, written: WrittenValue): void {
  const reader = new Map<string, Reader>(Object.entries(readers)).get(written.key);
  reader?.(scenario, written);
}

export function assign<Target, Key extends keyof Target>(
  target: Target,
  key: Key,
  value: Target[Key] | undefined,
): void {
  if (value !== undefined) target[key] = value;
}

function countOf({ key, content, report }: WrittenValue): number | undefined {
  if (typeof content === 'number' && Number.isSafeInteger(content) && content > 0) return content;
  report(`\`${key}\` is a whole number above 0, not \`${content}\``);
  return undefined;
}

/** `near`: what was meant, where it is none of the choices. */
function chosen<Choice extends string>(
  choices: readonly Choice[],
  { key, content, report }: WrittenValue,
  near = nearestName(String(content), choices),
): Choice | undefined {
  const choice = choices.find((each) => each === content);
  if (choice === undefined) {
    const hint = near === undefined ? '' : `; did you mean \`${near}\`?`;
    report(`\`${key}\` is one of ${choices.join(', ')}, not \`${content}\`${hint}`);
  }
  return choice;
}

function accepted<Group>(
  { value, problems }: GroupResult<Group>,
  { report }: WrittenValue,
): Group | undefined {
  for (const problem of problems) report(problem);
  return problems.length === 0 ? value : undefined;
}

function readThresholds(text: string, report: (message: string) => void): Thresholds {
  const thresholds: Partial<Record<ThresholdName, number>> = {};
  for (const pair of text.split(',')) {
    const [name = '', value = ''] = pair.split('=').map((part) => part.trim());
    const share = value === '' ? Number.NaN : Number(value);
    if (!isThresholdName(name)) {
      report(`\`${name}\` is not the name of a threshold${didYouMean(name, thresholdNames)}`);
    } else if (isShare(share)) thresholds[name] = share;
    else report(`\`${name}\` takes a fraction from 0 to 1, such as \`${name}=0.1\``);
  }
  return thresholds;
}
