/** Reads the command line into a request, or says what is wrong with it. Pure: sees only the arguments. */

import {
  type TargetFormat,
  targetFormats,
  type WeightChoice,
  weightForms,
} from '../analysis/conversionRequest.ts';
import { type DeviceChoice, deviceKinds, isDeviceChoice } from '../benchmark/deviceChoice.ts';
import { launcherWords } from '../benchmark/launcherWords.ts';
import type { Nodes } from '../benchmark/runnerCommand.ts';
import { mostCurves } from '../charts/scalingChart.ts';
import { type ChartName, chartNames } from '../estimate/figures/chartNames.ts';
import { readInputText } from '../export/inputTexts.ts';
import { didYouMean } from '../model/nearestName.ts';
import { type CalibrateArguments, readCalibrateArguments } from './calibrateArguments.ts';
import { type CheckArguments, readCheck } from './checkArguments.ts';
import { type CommandName, commandNames, isCommandName } from './commandHelp.ts';
import { type ComparisonArguments, readCompare } from './comparisonArguments.ts';
import { casesOf, type ListedCase, listsOf } from './listedOptions.ts';
import { chosen, oneOf, WrongArgument, wholeNumber } from './optionValues.ts';
import { parseOptions } from './parseOptions.ts';
import { type PlanArguments, readPlanArguments } from './planArguments.ts';
import { type ResultsArguments, readResultsArguments } from './resultsArguments.ts';
import {
  readDimensions,
  readScenario,
  type ScenarioArguments,
  scenarioOptions,
} from './scenarioArguments.ts';
import { readSweep, type SweepArguments } from './sweepArguments.ts';

const reportFormats = ['table', 'json', 'markdown', 'csv', 'html', 'svg', 'trace'] as const;
export type ReportFormat = (typeof reportFormats)[number];

const scaleFormats = ['table', 'json', 'markdown', 'csv', 'html'] as const;
export type ScaleFormat = (typeof scaleFormats)[number];

export type Arguments =
  | {
      readonly command: 'report';
      readonly file: string;
      readonly format: ReportFormat;
      readonly output: string | undefined;
      /** Characters in a line of the table. */
      readonly width: number | undefined;
      /** Totals and findings without the layers. */
      readonly summary: boolean;
      /** Rows of the table, the most expensive first; all layers in their order where it is absent. */
      readonly top: number | undefined;
      /** Name of the chart that SVG is of. */
      readonly chart: ChartName | undefined;
      readonly scenario: ScenarioArguments;
    }
  | {
      readonly command: 'scale';
      readonly file: string;
      /** Left out: those that the cluster suggests. */
      readonly gpus: readonly number[] | undefined;
      /** One curve each: a list such as `--cluster a,b` makes several. */
      readonly cases: readonly ListedCase[];
      readonly format: ScaleFormat;
      readonly output: string | undefined;
    }
  | CalibrateArguments
  | CheckArguments
  | ComparisonArguments
  | ResultsArguments
  | SweepArguments
  | { readonly command: 'clusters'; readonly name: string | undefined; readonly format: 'table' | 'json' }
  | {
      readonly command: 'benchmark';
      readonly file: string;
      readonly python: string | undefined;
      readonly device: DeviceChoice;
      /** Words that reach Python on another machine; none for this one. */
      readonly launcher: readonly string[];
      /** As a step leaves them, or as the run before of the same layer. */
      readonly caches: 'cold' | 'hot';
      /** Where the step is written as Python. */
      readonly keep: string | undefined;
      /** Where the trace of a step is written; layers are then not timed alone. */
      readonly trace: string | undefined;
      /** Processes of each machine that share the step; one measures it by itself where it is absent. */
      readonly ranks: number | undefined;
      readonly nodes: Nodes | undefined;
      readonly format: 'table' | 'json';
      readonly scenario: ScenarioArguments;
    }
  | {
      readonly command: 'collectives';
      /** Processes of each machine. */
      readonly ranks: number;
      readonly nodes: Nodes | undefined;
      readonly python: string | undefined;
      readonly device: DeviceChoice;
      /** Words that reach Python on another machine; none for this one. */
      readonly launcher: readonly string[];
      readonly format: 'table' | 'json';
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
  | {
      readonly command: 'export';
      readonly target: string;
      readonly output: string | undefined;
      readonly python: string | undefined;
      /** By parameter of `forward`: `int64[batch, 128]`. */
      readonly inputs: Readonly<Record<string, string>>;
    }
  | {
      readonly command: 'prices';
      readonly name: string | undefined;
      readonly update: string | undefined;
      readonly date: string | undefined;
      readonly format: 'table' | 'json';
    }
  | PlanArguments
  | { readonly command: 'lsp' }
  | { readonly command: 'mcp' }
  /** Of one command; left out, of all. */
  | { readonly command: 'help'; readonly of?: CommandName }
  | { readonly command: 'version' };

export type ArgumentsResult =
  | { readonly kind: 'arguments'; readonly arguments: Arguments }
  /** One line: what is wrong and what to do. */
  | { readonly kind: 'wrong'; readonly message: string };

/** `argv` without the interpreter and the script. Never throws. */
export function readArguments(argv: readonly string[]): ArgumentsResult {
  const [command, ...rest] = argv;
  if (command === undefined || isHelp(command) || command === 'help') {
    const [of] = rest.filter(isCommandName);
    return { kind: 'arguments', arguments: { command: 'help', ...(of === undefined ? {} : { of }) } };
  }
  if (command === '--version' || command === '-v') {
    return { kind: 'arguments', arguments: { command: 'version' } };
  }
  try {
    const asksForHelp = isCommandName(command) && rest.some(isHelp);
    return {
      kind: 'arguments',
      arguments: asksForHelp ? { command: 'help', of: command } : readCommand(command, rest),
    };
  } catch (error) {
    if (error instanceof WrongArgument) return { kind: 'wrong', message: error.message };
    throw error;
  }
}

/** One process has nobody to exchange with, unless on several machines. */
function readRanks(text: string | undefined, nodes: string | undefined): number | undefined {
  return wholeNumber('--ranks', text, nodes === undefined ? 2 : 1);
}

function readNodes({
  nodes,
  rendezvous,
  ranks,
  launcher,
}: {
  readonly nodes?: string | undefined;
  readonly rendezvous?: string | undefined;
  readonly ranks?: string | undefined;
  readonly launcher?: string | undefined;
}): Nodes | undefined {
  const count = wholeNumber('--nodes', nodes, 2);
  if (count === undefined) {
    if (rendezvous !== undefined) throw new WrongArgument('--rendezvous is of several nodes: add --nodes N');
    return undefined;
  }
  if (ranks === undefined) throw new WrongArgument('--nodes needs --ranks N: the GPUs of each node');
  if (launcher === undefined)
    throw new WrongArgument(
      '--nodes needs a launcher that starts Python on each: --launcher "srun --nodes 2 --ntasks-per-node 1"',
    );
  if (rendezvous === undefined || !/^([\w.-]+|\[[\da-f:]+\]):\d+$/i.test(rendezvous))
    throw new WrongArgument(
      '--nodes needs an address of one of them that all reach: --rendezvous node01:29500',
    );
  return { count, rendezvous };
}

/** A trace is of one step of one process. */
function readTrace({
  trace,
  ...others
}: {
  readonly trace?: string | undefined;
  readonly ranks?: string | undefined;
  readonly keep?: string | undefined;
}): string | undefined {
  const [other] = (['ranks', 'keep'] as const).filter((name) => others[name] !== undefined);
  if (trace !== undefined && other !== undefined)
    throw new WrongArgument(`--trace and --${other} are two runs; give one of them`);
  return trace;
}

const sharedDevices: readonly string[] = ['auto', 'cuda', 'cpu'];

/** A kind of device, or one of several GPUs. */
function readDevice(text = 'auto', ranks: string | undefined): DeviceChoice {
  if (ranks !== undefined && !sharedDevices.includes(text))
    throw new WrongArgument(
      `--ranks runs on cuda or cpu, not on ${text}: each process takes the GPU of its number`,
    );
  if (isDeviceChoice(text)) return text;
  throw new WrongArgument(
    `--device ${text} is none of auto, ${deviceKinds.join(', ')}; one of several GPUs is cuda:0, cuda:1 and so on`,
  );
}

const isHelp = (word: string): boolean => word === '--help' || word === '-h';

const textOption = { type: 'string' } as const;

/**
 * How an editor talks to the server, which reads these itself. Source: Language Server Protocol 3.17, "Implementation
 * Considerations"; `clientProcessId` lets the server end with its editor.
 */
const transports = {
  stdio: { type: 'boolean' },
  'node-ipc': { type: 'boolean' },
  pipe: textOption,
  socket: textOption,
  clientProcessId: textOption,
} as const;

function readCommand(command: string, rest: readonly string[]): Arguments {
  switch (command) {
    case 'report': {
      const { values, positionals } = parseOptions(rest, {
        ...scenarioOptions,
        format: textOption,
        output: textOption,
        width: textOption,
        summary: { type: 'boolean' },
        top: textOption,
        chart: textOption,
      });
      const format = oneOf('--format', values.format, reportFormats, 'table');
      const listsLayers = format === 'table' || format === 'json';
      if (values.summary === true && !listsLayers) {
        throw new WrongArgument(
          `--summary is for the table and JSON; --format ${format} has the totals beside the layers`,
        );
      }
      if (values.top !== undefined && (!listsLayers || values.summary === true)) {
        throw new WrongArgument(
          '--top is for the layers of the table and of JSON; leave out --summary and other formats',
        );
      }
      if ((values.chart !== undefined) !== (format === 'svg')) {
        throw new WrongArgument(`--format svg and --chart go together; charts are ${chartNames.join(', ')}`);
      }
      return {
        command,
        file: onlyFile(command, positionals),
        format,
        output: values.output,
        chart:
          values.chart === undefined ? undefined : oneOf('--chart', values.chart, chartNames, 'timeline'),
        width: wholeNumber('--width', values.width, 40),
        summary: values.summary ?? false,
        top: wholeNumber('--top', values.top, 1),
        scenario: readScenario(values, wholeNumber('--gpus', values.gpus, 1)),
      };
    }
    case 'scale': {
      const { values, positionals } = parseOptions(rest, {
        ...scenarioOptions,
        format: textOption,
        output: textOption,
      });
      const { gpus, ...shared } = values;
      const cases = casesOf(shared, listsOf(shared));
      if (cases.length > mostCurves) {
        throw new WrongArgument(
          `the lists have ${cases.length} combinations; at most ${mostCurves} curves are told apart`,
        );
      }
      return {
        command,
        file: onlyFile(command, positionals),
        gpus: gpus?.split(',').map((text) => wholeNumber('--gpus', text, 1) ?? 1),
        cases,
        format: oneOf('--format', values.format, scaleFormats, 'table'),
        output: values.output,
      };
    }
    case 'compare':
      return readCompare(rest);
    case 'sweep':
      return readSweep(rest, (words) => onlyFile(command, words));
    case 'check':
      return readCheck(rest);
    case 'clusters': {
      const { values, positionals } = parseOptions(rest, { format: textOption });
      if (positionals.length > 1) throw new WrongArgument('layercost clusters takes at most one name');
      return {
        command,
        name: positionals[0],
        format: oneOf('--format', values.format, ['table', 'json'], 'table'),
      };
    }
    case 'benchmark': {
      const { values, positionals } = parseOptions(rest, {
        ...scenarioOptions,
        format: textOption,
        python: textOption,
        device: textOption,
        launcher: textOption,
        caches: textOption,
        keep: textOption,
        trace: textOption,
        ranks: textOption,
        nodes: textOption,
        rendezvous: textOption,
      });
      return {
        command,
        file: onlyFile(command, positionals),
        python: values.python,
        keep: values.keep,
        trace: readTrace(values),
        ranks: readRanks(values.ranks, values.nodes),
        nodes: readNodes(values),
        device: readDevice(values.device, values.ranks),
        launcher: launcherWords(values.launcher ?? ''),
        caches: oneOf('--caches', values.caches, ['cold', 'hot'], 'cold'),
        format: oneOf('--format', values.format, ['table', 'json'], 'table'),
        scenario: readScenario(values, wholeNumber('--gpus', values.gpus, 1)),
      };
    }
    case 'collectives': {
      const { values, positionals } = parseOptions(rest, {
        format: textOption,
        python: textOption,
        device: textOption,
        launcher: textOption,
        ranks: textOption,
        nodes: textOption,
        rendezvous: textOption,
      });
      if (positionals.length > 0) throw new WrongArgument('layercost collectives takes no file');
      const ranks = readRanks(values.ranks, values.nodes);
      if (ranks === undefined)
        throw new WrongArgument('layercost collectives needs --ranks N: one process for each GPU');
      return {
        command,
        ranks,
        nodes: readNodes(values),
        python: values.python,
        device: readDevice(values.device, values.ranks),
        launcher: launcherWords(values.launcher ?? ''),
        format: oneOf('--format', values.format, ['table', 'json'], 'table'),
      };
    }
    case 'calibrate':
      return readCalibrateArguments(rest);
    case 'results':
      return readResultsArguments(rest);
    case 'convert': {
      const { values, positionals } = parseOptions(rest, {
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
    case 'export': {
      const { values, positionals } = parseOptions(rest, {
        output: textOption,
        python: textOption,
        input: { type: 'string', multiple: true },
      });
      const [target, extra] = positionals;
      if (target === undefined || extra !== undefined)
        throw new WrongArgument(
          'layercost export takes one target: FILE.py:NAME, MODULE:NAME, hf:ID, timm:NAME or torchvision:NAME',
        );
      return {
        command,
        target,
        output: values.output,
        python: values.python,
        inputs: readInputs(values.input ?? []),
      };
    }
    case 'plan':
      return readPlanArguments(rest);
    case 'prices': {
      const { values, positionals } = parseOptions(rest, {
        update: textOption,
        date: textOption,
        format: textOption,
      });
      const [name, extra] = positionals;
      if (extra !== undefined) throw new WrongArgument('layercost prices takes at most one cluster');
      if (values.date !== undefined && Number.isNaN(Date.parse(values.date)))
        throw new WrongArgument(`--date is a day such as 2026-03-01, not "${values.date}"`);
      return {
        command,
        name,
        update: values.update,
        date: values.date,
        format: oneOf('--format', values.format, ['table', 'json'], 'table'),
      };
    }
    case 'lsp':
      parseOptions(rest, transports);
      return { command };
    case 'mcp':
      parseOptions(rest, { stdio: transports.stdio });
      return { command };
    default:
      if (/[./\\]/.test(command))
        throw new WrongArgument(`${command} is no command; for what it costs: layercost report ${command}`);
      throw new WrongArgument(
        `there is no command ${command}; the commands are ${commandNames.slice(0, -1).join(', ')} and ${commandNames.at(-1)}${didYouMean(command, commandNames)}`,
      );
  }
}

/** `tokens=int64[batch, 128]`; what is right of the sign is read where the model is. */
function readInputs(given: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    given.map((text) => {
      const read = readInputText(text);
      if (read === undefined)
        throw new WrongArgument(
          `--input ${text} is not NAME=TYPE[SIZES], such as --input 'tokens=int64[batch, 128]'`,
        );
      return read;
    }),
  );
}

function onlyFile(command: string, positionals: readonly string[]): string {
  const [file, extra] = positionals;
  if (file === undefined)
    throw new WrongArgument(`layercost ${command} needs a model file: layercost ${command} FILE`);
  if (file === '-')
    throw new WrongArgument(
      'standard input cannot be read, because models are read by position; write the model to a file first',
    );
  if (extra !== undefined)
    throw new WrongArgument(`layercost ${command} takes one model file; remove ${extra}`);
  return file;
}
