/** `layercost export`: a model of Python as an archive that every other command reads. */

import { join, relative } from 'node:path';
import { archivePath } from '../export/archivePath.ts';
import { exportModel } from '../export/exportModel.ts';
import { inputTexts } from '../export/inputTexts.ts';
import type { ExportArguments } from './exportArguments.ts';
import { printData, printMessage } from './streams.ts';

export async function runExportCommand(given: ExportArguments): Promise<number> {
  const output = given.output ?? archivePath('.', given.target);
  const isGiven = Object.keys(given.inputs).length > 0;
  const stopping = new AbortController();
  const stop = (): void => stopping.abort();
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
  let log = '';
  try {
    const outcome = await exportModel(
      { target: given.target, output, inputs: given.inputs },
      {
        script: join(import.meta.dirname, 'export'),
        ...(given.python === undefined ? {} : { python: given.python }),
        signal: stopping.signal,
        onProgress: (message) => printMessage(message),
        onLog: (text) => {
          log += text;
        },
      },
    );
    switch (outcome.kind) {
      case 'cancelled':
        printMessage('layercost: the export was cancelled');
        return 1;
      case 'failed':
        if (outcome.failure === 'model' || outcome.failure === 'crash') printMessage(log.trimEnd());
        printMessage(
          `layercost: ${outcome.message}${outcome.failure.startsWith('torch-') || outcome.failure === 'no-interpreter' ? '. Choose one with --python PATH' : ''}`,
        );
        return 1;
      case 'done':
        printMessage(`called with ${inputTexts(outcome.inputs)}${isGiven ? '' : '; --input gives others'}`);
        for (const note of outcome.notes) printMessage(`note: ${note}`);
        printMessage(`wrote ${relative('.', output)} with torch ${outcome.torch}, without weights`);
        printData(`${output}\n`);
        return 0;
    }
  } finally {
    process.off('SIGINT', stop);
    process.off('SIGTERM', stop);
  }
}
