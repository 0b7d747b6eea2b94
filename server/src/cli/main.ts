/**
 * Entry of the command line: arguments in, an exit status out. Computes nothing itself.
 *
 * What `report` does not need is loaded by the command that does: the start is what a person waits for.
 */

import { readArguments } from './arguments.ts';
import { packageVersion } from './packageVersion.ts';
import { runReportCommand } from './reportCommand.ts';
import { printData, printMessage } from './streams.ts';

async function main(): Promise<number> {
  const result = readArguments(process.argv.slice(2));
  if (result.kind === 'wrong') {
    printMessage(`layercost: ${result.message}`);
    return 2;
  }
  const given = result.arguments;
  switch (given.command) {
    case 'help': {
      const { help, helpOfCommand } = await import('./help.ts');
      const { terminalWidth } = await import('./printsToTerminal.ts');
      const width = terminalWidth();
      printData(given.of === undefined ? help(width) : helpOfCommand(given.of, width));
      return 0;
    }
    case 'version':
      printData(`${packageVersion()}\n`);
      return 0;
    case 'report':
      return runReportCommand(given);
    case 'scale':
      return (await import('./scaleCommand.ts')).runScaleCommand(given);
    case 'compare':
      return (await import('./compareCommand.ts')).runCompareCommand(given);
    case 'sweep':
      return (await import('./sweepCommand.ts')).runSweepCommand(given);
    case 'check':
      return (await import('./checkCommand.ts')).runCheckCommand(given);
    case 'clusters':
      return (await import('./clustersCommand.ts')).runClustersCommand(given);
    case 'calibrate':
      return (await import('./calibrateCommand.ts')).runCalibrateCommand(given);
    case 'collectives':
      return (await import('./collectivesCommand.ts')).runCollectivesCommand(given);
    case 'benchmark':
      return (await import('./benchmarkCommand.ts')).runBenchmarkCommand(given);
    case 'results':
      return (await import('./resultsCommand.ts')).runResultsCommand(given);
    case 'convert':
      return (await import('./convertCommand.ts')).runConvertCommand(given);
    case 'export':
      return (await import('./exportCommand.ts')).runExportCommand(given);
    case 'plan':
      return (await import('./planCommand.ts')).runPlanCommand(given);
    case 'prices':
      return (await import('./pricesCommand.ts')).runPricesCommand(given);
    case 'lsp':
      return (await import('./serverCommand.ts')).runServerCommand();
    case 'mcp':
      return (await import('./mcpCommand.ts')).runMcpCommand();
  }
}

main().then(
  (status) => {
    process.exitCode = status;
  },
  (error: unknown) => {
    // An exception is a bug of ours: say so, with what is needed to report it, and never look like a wrong model.
    printMessage(
      `layercost: internal error, please report it with the model: ${error instanceof Error ? error.stack : String(error)}`,
    );
    process.exitCode = 1;
  },
);
