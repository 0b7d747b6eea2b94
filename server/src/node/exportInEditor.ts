/** Writes a model of a Python file for an editor, into `.layercost/exports/` of its workspace. */

import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { URI } from 'vscode-uri';
import { defaultPython } from '../benchmark/followRunner.ts';
import { archivePath } from '../export/archivePath.ts';
import { exportModel } from '../export/exportModel.ts';
import { inputTexts } from '../export/inputTexts.ts';
import type { ExportPython } from '../lsp/platform.ts';
import { fileInWorkspace, workspaceOf } from './resultFiles.ts';

export const exportInEditor: ExportPython = async ({ uri, name, inputs, python, ...options }) => {
  const parsed = URI.parse(uri);
  if (parsed.scheme !== 'file')
    return { kind: 'failed', message: 'the file is not on this machine; open the folder where Python runs' };
  const path = parsed.fsPath;
  const workspace = workspaceOf(dirname(path));
  const output = archivePath(workspace, `${fileInWorkspace(workspace, path)}:${name}`);
  try {
    mkdirSync(dirname(output), { recursive: true });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { kind: 'failed', message: `the archive cannot be written: ${reason}` };
  }
  const outcome = await exportModel(
    { target: `${path}:${name}`, output, inputs },
    {
      script: fileURLToPath(new URL('./export', import.meta.url)),
      python: python === '' ? defaultPython : python,
      ...options,
    },
  );
  switch (outcome.kind) {
    case 'done':
      return {
        kind: 'done',
        archive: URI.file(output).toString(),
        notes: outcome.notes,
        inputs: inputTexts(outcome.inputs),
      };
    case 'cancelled':
      return outcome;
    case 'failed': {
      const { failure, message } = outcome;
      if (failure === 'inputs') return { kind: 'failed', message, remedy: 'inputs' };
      const needsPython = failure === 'no-interpreter' || failure.startsWith('torch-');
      return { kind: 'failed', message, ...(needsPython ? { remedy: 'python' as const } : {}) };
    }
  }
};
