/** The options that describe a scenario, the same for every command that costs a model. */

import { readFrameworkText } from '../formats/frameworkText.ts';
import { besideBatch } from '../formats/layouts/degrees.ts';
import { readLayoutText } from '../formats/layouts/readLayoutText.ts';
import {
  type GroupResult,
  readInputGroup,
  readLoraGroup,
  readPatterns,
  readRunGroup,
  readWorkersGroup,
} from '../formats/scenarioGroups.ts';
import {
  isShare,
  isThresholdName,
  type ThresholdName,
  type Thresholds,
  thresholdNames,
} from '../model/findingThresholds.ts';
import { didYouMean } from '../model/nearestName.ts';
import {
  checkpoints,
  type FrameworkChoice,
  isFrameworkPath,
  lossChoices,
  modes,
  optimizers,
  precisions,
  type ScenarioRequest,
} from '../model/scenario.ts';
import { seconds } from '../model/units.ts';
import { chosen, positiveNumber, textOf, WrongArgument, wholeNumber } from './optionValues.ts';

export interface ScenarioArguments {
  readonly request: ScenarioRequest;
  /** `--cluster FILE`: a profile of the person's own; the request then names no cluster. */
  readonly clusterFile: string | undefined;
  /** `--framework FILE`: a behaviour of the person's own, and the options given with it. */
  readonly frameworkFile: FrameworkChoice | undefined;
  /** `--layer-trace FILE.csv`: measured times that replace predicted ones. */
  readonly layerTrace: string | undefined;
}

export const scenarioOptions = {
  cluster: { type: 'string' },
  gpus: { type: 'string' },
  nodes: { type: 'string' },
  batch: { type: 'string' },
  'global-batch': { type: 'string' },
  accumulate: { type: 'string' },
  dim: { type: 'string', multiple: true },
  precision: { type: 'string' },
  optimizer: { type: 'string' },
  framework: { type: 'string' },
  mode: { type: 'string' },
  past: { type: 'string' },
  'measured-step': { type: 'string' },
  'layer-trace': { type: 'string' },
  checkpoint: { type: 'string' },
  parallel: { type: 'string' },
  loss: { type: 'string' },
  freeze: { type: 'string', multiple: true },
  lora: { type: 'string' },
  threshold: { type: 'string', multiple: true },
  input: { type: 'string' },
  workers: { type: 'string' },
  run: { type: 'string' },
} as const;

type ScenarioValues = { readonly [Name in keyof typeof scenarioOptions]?: string | string[] | undefined };

/** The scenario of a command; `gpus` is read by the command, which may take several. */
export function readScenario(values: ScenarioValues, gpus: number | undefined): ScenarioArguments {
  const cluster = textOf(values.cluster);
  const isFile = cluster !== undefined && /[\\/]|\.json$/i.test(cluster);
  const nodes = wholeNumber('--nodes', textOf(values.nodes), 1);
  const batch = wholeNumber('--batch', textOf(values.batch), 1);
  const accumulate = wholeNumber('--accumulate', textOf(values.accumulate), 1);
  const globalBatch = wholeNumber('--global-batch', textOf(values['global-batch']), 1);
  if (batch !== undefined && globalBatch !== undefined) {
    throw new WrongArgument('--batch is per GPU and --global-batch over all GPUs: set only one of them');
  }
  const input = readGroup('--input', textOf(values.input), readInputGroup);
  const workers = readGroup('--workers', textOf(values.workers), readWorkersGroup);
  const layout = readGroup('--parallel', textOf(values.parallel), readLayoutText);
  const run = readGroup('--run', textOf(values.run), readRunGroup);
  const precision = chosen('--precision', textOf(values.precision), precisions);
  const optimizer = chosen('--optimizer', textOf(values.optimizer), optimizers);
  const mode = chosen('--mode', textOf(values.mode), modes);
  const past = wholeNumber('--past', textOf(values.past), 1);
  const checkpoint = chosen('--checkpoint', textOf(values.checkpoint), checkpoints);
  const loss = chosen('--loss', textOf(values.loss), lossChoices);
  const freeze = [values.freeze ?? []].flat().flatMap(readPatterns);
  const lora = readGroup('--lora', textOf(values.lora), readLoraGroup);
  const givenFramework = textOf(values.framework);
  const chosenFramework = givenFramework === undefined ? undefined : readFramework(givenFramework);
  const isDescribed = chosenFramework !== undefined && isFrameworkPath(chosenFramework.name);
  const measuredStep = positiveNumber('--measured-step', textOf(values['measured-step']));
  const dimensions = readDimensions(values.dim);
  const thresholds = readThresholds(values.threshold);
  return {
    clusterFile: isFile ? cluster : undefined,
    frameworkFile: isDescribed ? chosenFramework : undefined,
    layerTrace: textOf(values['layer-trace']),
    request: {
      // What other options say goes before what comes with a layout.
      ...(layout === undefined ? {} : besideBatch(layout, batch)),
      ...(cluster !== undefined && !isFile ? { cluster } : {}),
      ...(nodes === undefined ? {} : { nodes }),
      ...(gpus === undefined ? {} : { gpus }),
      ...(batch === undefined ? {} : { batch }),
      ...(globalBatch === undefined ? {} : { globalBatch }),
      ...(accumulate === undefined ? {} : { accumulate }),
      ...(Object.keys(dimensions).length === 0 ? {} : { dimensions }),
      ...(precision === undefined ? {} : { precision }),
      ...(optimizer === undefined ? {} : { optimizer }),
      ...(mode === undefined ? {} : { mode }),
      ...(past === undefined ? {} : { past }),
      ...(checkpoint === undefined ? {} : { checkpoint }),
      ...(loss === undefined ? {} : { loss }),
      ...(freeze.length === 0 ? {} : { freeze }),
      ...(lora === undefined ? {} : { lora }),
      ...(chosenFramework === undefined || isDescribed ? {} : { framework: chosenFramework }),
      ...(measuredStep === undefined ? {} : { measuredStep: seconds(measuredStep) }),
      ...(thresholds === undefined ? {} : { thresholds }),
      ...(input === undefined ? {} : { input }),
      ...(workers === undefined ? {} : { workers }),
      ...(run === undefined ? {} : { run }),
    },
  };
}

/** `--run samples=1281167,epochs=90`: numbers that belong together. */
function readGroup<Group>(
  option: string,
  text: string | undefined,
  read: (text: string) => GroupResult<Group>,
): Group | undefined {
  if (text === undefined) return undefined;
  const { value, problems } = read(text);
  if (problems[0] !== undefined) throw new WrongArgument(`${option} ${text}: ${problems[0]}`);
  return value;
}

/** `pytorch-ddp,bucket-mb=50`: a name, then options. Whether they exist is for the framework to say. */
function readFramework(text: string): FrameworkChoice | undefined {
  const { choice, problems } = readFrameworkText(text);
  if (problems[0] !== undefined) throw new WrongArgument(`--framework ${text}: ${problems[0].message}`);
  return choice;
}

export function readDimensions(given: string | string[] | undefined): Readonly<Record<string, number>> {
  const dimensions = new Map<string, number>();
  for (const text of given === undefined ? [] : [given].flat()) {
    const [, name, value] = /^([^=]+)=(\d+)$/.exec(text) ?? [];
    if (name === undefined || value === undefined) {
      throw new WrongArgument(
        `--dim ${text} is not NAME=VALUE with a whole number, such as --dim sequence=1024`,
      );
    }
    dimensions.set(name, Number(value));
  }
  // Not by assignment: a dimension may be called `__proto__`.
  return Object.fromEntries(dimensions);
}

function readThresholds(given: string | string[] | undefined): Thresholds | undefined {
  if (given === undefined) return undefined;
  const thresholds: Partial<Record<ThresholdName, number>> = {};
  for (const text of [given].flat()) {
    const [, name = '', value = ''] = /^([^=]*)=(.+)$/.exec(text) ?? [];
    if (!isThresholdName(name)) {
      const hint = didYouMean(name, thresholdNames) || `; it takes ${thresholdNames.join(', ')}`;
      throw new WrongArgument(`--threshold ${text}: \`${name}\` is not the name of a threshold${hint}`);
    }
    const share = Number(value);
    if (!isShare(share)) {
      throw new WrongArgument(`--threshold ${text} is not NAME=FRACTION with a fraction from 0 to 1`);
    }
    thresholds[name] = share;
  }
  return thresholds;
}
