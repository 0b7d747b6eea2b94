/** What went wrong with an export, and what to do. */

/** What the script itself says. */
export const refusals = ['torch-missing', 'torch-old', 'target', 'inputs', 'export', 'model'] as const;

export type ExportFailureKind = (typeof refusals)[number] | 'no-interpreter' | 'timeout' | 'crash';

export function failureText(kind: ExportFailureKind, message: string, python: string): string {
  switch (kind) {
    case 'no-interpreter':
      return `${python} cannot be started (${message}): choose an interpreter that has torch`;
    case 'torch-missing':
      return `${python} has no torch (${message}): install it with \`${python} -m pip install torch\`, or choose another interpreter`;
    case 'torch-old':
      return `${python}: ${message}`;
    case 'timeout':
      return `The export was stopped: ${message}`;
    case 'crash':
      return `The export failed: ${message}`;
    case 'model':
      return `The model could not be built or traced (${message}): the log has the whole error`;
    case 'target':
    case 'inputs':
    case 'export':
      return message;
  }
}
