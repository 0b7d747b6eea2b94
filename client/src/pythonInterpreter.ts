/** The Python that a person has chosen in the Python extension, where there is one. */

import * as vscode from 'vscode';

/** The interpreter that the Python extension has chosen for the file's folder; `undefined` without that extension. */
export async function interpreterOf(file: vscode.Uri): Promise<string | undefined> {
  const extension = vscode.extensions.getExtension<PythonExtension>(pythonExtension);
  if (extension === undefined) return undefined;
  try {
    const { environments } = await extension.activate();
    const chosen = environments?.getActiveEnvironmentPath?.(file);
    if (chosen === undefined) return undefined;
    // The path may be a folder; what is in it is known to the extension.
    const resolved = await environments?.resolveEnvironment?.(chosen);
    return resolved?.executable?.uri?.fsPath ?? chosen.path;
  } catch {
    return undefined;
  }
}

export const pythonExtension = 'ms-python.python';

/** What of the Python extension is used, each part where it has it. Source: @vscode/python-extension. */
interface PythonExtension {
  readonly environments?: {
    getActiveEnvironmentPath?(resource?: vscode.Uri): { readonly path: string };
    resolveEnvironment?(environment: {
      readonly path: string;
    }): Promise<{ readonly executable?: { readonly uri?: vscode.Uri } } | undefined>;
  };
}
