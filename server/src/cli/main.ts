/** Entry of the command line: arguments in, an exit status out. Computes nothing itself. */

import { createRequire } from 'node:module';
import { readArguments } from './arguments.ts';
import { runBenchmarkCommand } from './benchmarkCommand.ts';
import { runClustersCommand } from './clustersCommand.ts';
import { runCompareCommand } from './compareCommand.ts';
import { help } from './help.ts';
import { runReportCommand } from './reportCommand.ts';
import { runScaleCommand } from './scaleCommand.ts';
import { runServerCommand } from './serverCommand.ts';
import { printData, printMessage } from './streams.ts';

async function main(): Promise<number> {
  const result = readArguments(process.argv.slice(2));
  if (result.kind === 'wrong') {
    printMessage(`layercost: ${result.message}`);
    return 2;
  }
  const given = result.arguments;
  switch (given.command) {
    case 'help':
      printData(help);
      return 0;
    case 'version':
      printData(`${packageVersion()}\n`);
      return 0;
    case 'report':
      return runReportCommand(given);
    case 'scale':
      return runScaleCommand(given);
    case 'compare':
      return runCompareCommand(given);
    case 'clusters':
      return runClustersCommand(given);
    case 'benchmark':
      return runBenchmarkCommand(given);
    case 'lsp':
      return runServerCommand();
  }
}

/** The manifest lies beside `dist/` in a clone and in an installed package alike. */
function packageVersion(): string {
  const manifest: unknown = createRequire(import.meta.url)('../package.json');
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest
    ? String(manifest.version)
    : 'unknown';
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
