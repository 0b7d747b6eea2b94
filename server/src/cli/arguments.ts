/** Reads the command line into a request, or says what is wrong with it. Pure: sees only the arguments. */

import { didYouMean } from '../model/nearestName.ts';
import {
  type BenchmarkArguments,
  type CollectivesArguments,
  readBenchmarkArguments,
  readCollectivesArguments,
} from './benchmarkArguments.ts';
import { type CalibrateArguments, readCalibrateArguments } from './calibrateArguments.ts';
import { type CheckArguments, readCheck } from './checkArguments.ts';
import { type CommandName, commandNames, isCommandName } from './commandHelp.ts';
import { type ComparisonArguments, readCompare } from './comparisonArguments.ts';
import { type ConvertArguments, readConvertArguments } from './convertArguments.ts';
import { type ExportArguments, readExportArguments } from './exportArguments.ts';
import { oneOf, WrongArgument } from './optionValues.ts';
import { parseOptions } from './parseOptions.ts';
import { type PlanArguments, readPlanArguments } from './planArguments.ts';
import { type PricesArguments, readPricesArguments } from './pricesArguments.ts';
import { type ReportArguments, readReportArguments } from './reportArguments.ts';
import { type ResultsArguments, readResultsArguments } from './resultsArguments.ts';
import { readScaleArguments, type ScaleArguments } from './scaleArguments.ts';
import { readSweep, type SweepArguments } from './sweepArguments.ts';

export type Arguments =
  | BenchmarkArguments
  | CalibrateArguments
  | CheckArguments
  | ClustersArguments
  | CollectivesArguments
  | ComparisonArguments
  | ConvertArguments
  | ExportArguments
  | PlanArguments
  | PricesArguments
  | ReportArguments
  | ResultsArguments
  | ScaleArguments
  | SweepArguments
  | { readonly command: 'lsp' }
  | { readonly command: 'mcp' }
  /** Of one command; left out, of all. */
  | { readonly command: 'help'; readonly of?: CommandName }
  | { readonly command: 'version' };

export interface ClustersArguments {
  readonly command: 'clusters';
  readonly name: string | undefined;
  readonly format: 'table' | 'json';
}

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

const isHelp = (word: string): boolean => word === '--help' || word === '-h';

function readCommand(command: string, rest: readonly string[]): Arguments {
  if (isCommandName(command)) return readers[command](rest);
  if (/[./\\]/.test(command))
    throw new WrongArgument(`${command} is no command; for what it costs: layercost report ${command}`);
  throw new WrongArgument(
    `there is no command ${command}; the commands are ${commandNames.slice(0, -1).join(', ')} and ${commandNames.at(-1)}${didYouMean(command, commandNames)}`,
  );
}

const readers: Readonly<Record<CommandName, (rest: readonly string[]) => Arguments>> = {
  report: readReportArguments,
  scale: readScaleArguments,
  compare: readCompare,
  sweep: readSweep,
  check: readCheck,
  clusters: readClusters,
  benchmark: readBenchmarkArguments,
  collectives: readCollectivesArguments,
  calibrate: readCalibrateArguments,
  results: readResultsArguments,
  convert: readConvertArguments,
  export: readExportArguments,
  plan: readPlanArguments,
  prices: readPricesArguments,
  lsp: (rest) => {
    parseOptions(rest, transports);
    return { command: 'lsp' };
  },
  mcp: (rest) => {
    parseOptions(rest, { stdio: transports.stdio });
    return { command: 'mcp' };
  },
};

function readClusters(rest: readonly string[]): ClustersArguments {
  const { values, positionals } = parseOptions(rest, { format: { type: 'string' } });
  if (positionals.length > 1) throw new WrongArgument('layercost clusters takes at most one name');
  return {
    command: 'clusters',
    name: positionals[0],
    format: oneOf('--format', values.format, ['table', 'json'], 'table'),
  };
}

/**
 * How an editor talks to the server, which reads these itself. Source: Language Server Protocol 3.17, "Implementation
 * Considerations"; `clientProcessId` lets the server end with its editor.
 */
const transports = {
  stdio: { type: 'boolean' },
  'node-ipc': { type: 'boolean' },
  pipe: { type: 'string' },
  socket: { type: 'string' },
  clientProcessId: { type: 'string' },
} as const;
