/** Reads the command line into a request, or says what is wrong with it. Pure: sees only the arguments. */

import { parseArgs } from 'node:util';
import {
  type TargetFormat,
  targetFormats,
  type WeightChoice,
  weightForms,
} from '../analysis/conversionRequest.ts';
import { readFrameworkText } from '../formats/frameworkText.ts';
import {
  type GroupResult,
  readInputGroup,
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
import { didYouMean, nearestName } from '../model/nearestName.ts';
import { meantPrecision } from '../model/precisionNames.ts';
import {
  checkpoints,
  type FrameworkChoice,
  isFrameworkPath,
  modes,
  optimizers,
  precisions,
  type ScenarioRequest,
} from '../model/scenario.ts';
import { seconds } from '../model/units.ts';

export const reportFormats = ['table', 'json', 'markdown', 'csv', 'html', 'trace'] as const;
export type ReportFormat = (typeof reportFormats)[number];

export type Arguments =
  | {
      readonly command: 'report';
      readonly file: string;
      readonly format: ReportFormat;
      readonly output: string | undefined;
      /** Characters in a line of the table. */
      readonly width: number | undefined;
      readonly scenario: ScenarioArguments;
    }
  | {
      readonly command: 'scale';
      readonly file: string;
      readonly gpus: readonly number[];
      readonly format: 'table' | 'json';
      readonly scenario: ScenarioArguments;
    }
  | {
      readonly command: 'compare';
      readonly left: ComparedFile;
      readonly right: ComparedFile;
      readonly format: 'table' | 'json';
    }
  | { readonly command: 'clusters'; readonly name: string | undefined; readonly format: 'table' | 'json' }
  | {
      readonly command: 'benchmark';
      readonly file: string;
      readonly python: string | undefined;
      readonly device: 'auto' | 'cuda' | 'cpu';
      readonly format: 'table' | 'json';
      readonly scenario: ScenarioArguments;
    }
  | {
      readonly command: 'convert';
      readonly file: string;
      readonly to: TargetFormat | undefined;
      readonly output: string | undefined;
      readonly weights: WeightChoice | undefined;
      readonly dimensions: Readonly<Record<string, number>>;
      readonly force: boolean;
    }
  | { readonly command: 'lsp' }
  | { readonly command: 'help' }
  | { readonly command: 'version' };

/** One side of a comparison. */
export interface ComparedFile {
  readonly file: string;
  readonly scenario: ScenarioArguments;
}

export interface ScenarioArguments {
  readonly request: ScenarioRequest;
  /** `--cluster FILE`: a profile of the person's own; the request then names no cluster. */
  readonly clusterFile: string | undefined;
  /** `--framework FILE`: a behaviour of the person's own, and the options given with it. */
  readonly frameworkFile: FrameworkChoice | undefined;
  /** `--layer-trace FILE.csv`: measured times that replace predicted ones. */
  readonly layerTrace: string | undefined;
}

export type ArgumentsResult =
  | { readonly kind: 'arguments'; readonly arguments: Arguments }
  /** One line: what is wrong and what to do. */
  | { readonly kind: 'wrong'; readonly message: string };

/** `argv` without the interpreter and the script. Never throws. */
export function readArguments(argv: readonly string[]): ArgumentsResult {
  const [command, ...rest] = argv;
  if (command === undefined || command === '--help' || command === '-h' || command === 'help') {
    return { kind: 'arguments', arguments: { command: 'help' } };
  }
  if (command === '--version' || command === '-v') {
    return { kind: 'arguments', arguments: { command: 'version' } };
  }
  try {
    const asksForHelp = commands.includes(command) && rest.some((word) => word === '--help' || word === '-h');
    return { kind: 'arguments', arguments: asksForHelp ? { command: 'help' } : readCommand(command, rest) };
  } catch (error) {
    if (error instanceof WrongArgument) return { kind: 'wrong', message: error.message };
    throw error;
  }
}

const commands: readonly string[] = ['report', 'scale', 'compare', 'clusters', 'benchmark', 'convert', 'lsp'];

/** Carries a message out of the readers below; never leaves this file. */
class WrongArgument extends Error {}

const scenarioOptions = {
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
  'measured-step': { type: 'string' },
  'layer-trace': { type: 'string' },
  checkpoint: { type: 'string' },
  threshold: { type: 'string', multiple: true },
  input: { type: 'string' },
  workers: { type: 'string' },
  run: { type: 'string' },
} as const;

const textOption = { type: 'string' } as const;

function readCommand(command: string, rest: readonly string[]): Arguments {
  switch (command) {
    case 'report': {
      const { values, positionals } = parse(rest, {
        ...scenarioOptions,
        format: textOption,
        output: textOption,
        width: textOption,
      });
      return {
        command,
        file: onlyFile(command, positionals),
        format: oneOf('--format', values.format, reportFormats, 'table'),
        output: values.output,
        width: wholeNumber('--width', values.width, 40),
        scenario: readScenario(values, wholeNumber('--gpus', values.gpus, 1)),
      };
    }
    case 'scale': {
      const { values, positionals } = parse(rest, { ...scenarioOptions, format: textOption });
      return {
        command,
        file: onlyFile(command, positionals),
        gpus: (values.gpus ?? '1,2,4,8,16,32,64')
          .split(',')
          .map((text) => wholeNumber('--gpus', text, 1) ?? 1),
        format: oneOf('--format', values.format, ['table', 'json'], 'table'),
        scenario: readScenario(values, undefined),
      };
    }
    case 'compare':
      return readCompare(rest);
    case 'clusters': {
      const { values, positionals } = parse(rest, { format: textOption });
      if (positionals.length > 1) throw new WrongArgument('layercost clusters takes at most one name');
      return {
        command,
        name: positionals[0],
        format: oneOf('--format', values.format, ['table', 'json'], 'table'),
      };
    }
    case 'benchmark': {
      const { values, positionals } = parse(rest, {
        ...scenarioOptions,
        format: textOption,
        python: textOption,
        device: textOption,
      });
      return {
        command,
        file: onlyFile(command, positionals),
        python: values.python,
        device: oneOf('--device', values.device, ['auto', 'cuda', 'cpu'], 'auto'),
        format: oneOf('--format', values.format, ['table', 'json'], 'table'),
        scenario: readScenario(values, wholeNumber('--gpus', values.gpus, 1)),
      };
    }
    case 'convert': {
      const { values, positionals } = parse(rest, {
        to: textOption,
        output: textOption,
        weights: textOption,
        dim: scenarioOptions.dim,
        force: { type: 'boolean' },
      });
      return {
        command,
        file: onlyFile(command, positionals),
        to: chosen('--to', values.to, targetFormats),
        output: values.output,
        weights: chosen('--weights', values.weights, weightForms),
        dimensions: readDimensions(values.dim),
        force: values.force ?? false,
      };
    }
    case 'lsp':
      parse(rest, { stdio: { type: 'boolean' } });
      return { command };
    default:
      throw new WrongArgument(
        `there is no command ${command}; the commands are ${commands.slice(0, -1).join(', ')} and ${commands.at(-1)}${didYouMean(command, commands)}`,
      );
  }
}

function parse<Options extends NonNullable<Parameters<typeof parseArgs>[0]>['options'] & object>(
  args: readonly string[],
  options: Options,
) {
  checkOptions(args, options);
  return parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
}

/** Says in our words what `parseArgs` would refuse by throwing: an unknown option, a value that is missing or too many. */
function checkOptions(
  args: readonly string[],
  options: NonNullable<NonNullable<Parameters<typeof parseArgs>[0]>['options']>,
): void {
  const { tokens } = parseArgs({ args: [...args], options, strict: false, tokens: true });
  for (const token of tokens) {
    if (token.kind !== 'option') continue;
    const { name, rawName, value, inlineValue } = token;
    const known = Object.hasOwn(options, name) ? options[name] : undefined;
    if (known === undefined) {
      const names = Object.keys(options).map((option) => `--${option}`);
      throw new WrongArgument(
        `there is no option ${rawName} here${didYouMean(rawName, names) || '; layercost --help lists the options'}`,
      );
    }
    if (known.type === 'string' && (value === undefined || (!inlineValue && value.startsWith('-')))) {
      if (value !== undefined && /^-[\d.]/.test(value)) {
        throw new WrongArgument(`${rawName} ${value}: no option takes a negative number`);
      }
      const instead = value === undefined ? '' : `, and ${value} is an option`;
      throw new WrongArgument(`${rawName} needs a value${instead}; layercost --help lists what it takes`);
    }
    if (known.type === 'boolean' && value !== undefined) {
      throw new WrongArgument(`${rawName} takes no value, leave out ${value}`);
    }
  }
}

/** Two models in one scenario, or one or two models in two: `--left` and `--right` hold options of one side each. */
function readCompare(rest: readonly string[]): Arguments {
  const { values, positionals } = parse(joinSides(rest), {
    ...scenarioOptions,
    format: textOption,
    left: textOption,
    right: textOption,
  });
  const { left, right, format, ...shared } = values;
  const [first, second = first, extra] = positionals;
  if (first === undefined || second === undefined || extra !== undefined) {
    throw new WrongArgument('layercost compare takes one or two model files: layercost compare A B');
  }
  if (positionals.length === 1 && left === undefined && right === undefined) {
    throw new WrongArgument(
      'layercost compare FILE needs two scenarios, such as --left "--cluster dgx-a100" --right "--cluster dgx-h100"',
    );
  }
  const side = (file: string, own: string | undefined): ComparedFile => {
    const words = own?.split(/\s+/).filter((word) => word !== '') ?? [];
    const options = parse(words, scenarioOptions);
    if (options.positionals.length > 0) {
      throw new WrongArgument(`--left and --right hold scenario options, ${options.positionals[0]} is none`);
    }
    const merged = { ...shared, ...options.values };
    return { file, scenario: readScenario(merged, wholeNumber('--gpus', textOf(merged.gpus), 1)) };
  };
  return {
    command: 'compare',
    left: side(first, left),
    right: side(second, right),
    format: oneOf('--format', format, ['table', 'json'], 'table'),
  };
}

/** `parseArgs` takes a value that begins with a dash only after `=`; these two values always do. */
function joinSides(args: readonly string[]): readonly string[] {
  return args.flatMap((word, index) => {
    if (word === '--left' || word === '--right') return `${word}=${args[index + 1] ?? ''}`;
    const before = args[index - 1];
    return before === '--left' || before === '--right' ? [] : word;
  });
}

function onlyFile(command: string, positionals: readonly string[]): string {
  const [file, extra] = positionals;
  if (file === undefined)
    throw new WrongArgument(`layercost ${command} needs a model file: layercost ${command} FILE`);
  if (file === '-')
    throw new WrongArgument(
      'standard input is not read, because models are read by position; write it to a file first',
    );
  if (extra !== undefined)
    throw new WrongArgument(`layercost ${command} takes one model file, ${extra} is one too many`);
  return file;
}

type ScenarioValues = { readonly [Name in keyof typeof scenarioOptions]?: string | string[] | undefined };

function readScenario(values: ScenarioValues, gpus: number | undefined): ScenarioArguments {
  const cluster = textOf(values.cluster);
  const isFile = cluster !== undefined && /[\\/]|\.json$/i.test(cluster);
  const nodes = wholeNumber('--nodes', textOf(values.nodes), 1);
  const batch = wholeNumber('--batch', textOf(values.batch), 1);
  const accumulate = wholeNumber('--accumulate', textOf(values.accumulate), 1);
  const globalBatch = wholeNumber('--global-batch', textOf(values['global-batch']), 1);
  if (batch !== undefined && globalBatch !== undefined) {
    throw new WrongArgument('--batch is per GPU and --global-batch over all of them: give one of the two');
  }
  const input = readGroup('--input', textOf(values.input), readInputGroup);
  const workers = readGroup('--workers', textOf(values.workers), readWorkersGroup);
  const run = readGroup('--run', textOf(values.run), readRunGroup);
  const precision = chosen('--precision', textOf(values.precision), precisions);
  const optimizer = chosen('--optimizer', textOf(values.optimizer), optimizers);
  const mode = chosen('--mode', textOf(values.mode), modes);
  const checkpoint = chosen('--checkpoint', textOf(values.checkpoint), checkpoints);
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
      ...(checkpoint === undefined ? {} : { checkpoint }),
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

function readDimensions(given: string | string[] | undefined): Readonly<Record<string, number>> {
  const dimensions: Record<string, number> = {};
  for (const text of given === undefined ? [] : [given].flat()) {
    const [, name, value] = /^([^=]+)=(\d+)$/.exec(text) ?? [];
    if (name === undefined || value === undefined) {
      throw new WrongArgument(
        `--dim ${text} is not NAME=VALUE with a whole number, such as --dim sequence=1024`,
      );
    }
    dimensions[name] = Number(value);
  }
  return dimensions;
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
      throw new WrongArgument(`--threshold ${text} is not NAME=SHARE with a share from 0 to 1`);
    }
    thresholds[name] = share;
  }
  return thresholds;
}

const textOf = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value.at(-1) : value;

function wholeNumber(option: string, text: string | undefined, least: number): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= least && Number.isSafeInteger(value)) return value;
  throw new WrongArgument(
    `${option} ${text === '' ? "''" : text} is not a whole number of at least ${least}`,
  );
}

function positiveNumber(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (Number.isFinite(value) && value > 0) return value;
  throw new WrongArgument(`${option} ${text} is not a positive number of seconds`);
}

function chosen<Name extends string>(
  option: string,
  text: string | undefined,
  names: readonly Name[],
): Name | undefined {
  if (text === undefined) return undefined;
  const found = names.find((name) => name === text);
  if (found !== undefined) return found;
  const near = option === '--precision' ? meantPrecision(text) : nearestName(text, names);
  const meant = near === undefined ? '' : ` (did you mean \`${near}\`?)`;
  throw new WrongArgument(`${option} ${text || "''"} is not known${meant}; it takes ${names.join(', ')}`);
}

function oneOf<Name extends string>(
  option: string,
  text: string | undefined,
  names: readonly Name[],
  otherwise: Name,
): Name {
  return chosen(option, text, names) ?? otherwise;
}
