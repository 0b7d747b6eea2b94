/**
 * Pages that explain an issue, as a diagnostic's code opens them: rendered. They are texts of a scheme of their own, because
 * in a browser the files of an extension are no files that the editor can show.
 */

import * as vscode from 'vscode';
import { explainIssue } from '../../server/src/protocol.ts';

const scheme = 'layercost-page';

export const registerIssuePages = (extension: vscode.Uri): vscode.Disposable =>
  vscode.Disposable.from(
    vscode.workspace.registerTextDocumentContentProvider(scheme, {
      provideTextDocumentContent: async ({ path }) => {
        const page = vscode.Uri.joinPath(extension, 'docs', path);
        return new TextDecoder().decode(await vscode.workspace.fs.readFile(page));
      },
    }),
    vscode.commands.registerCommand(explainIssue, (path: unknown) => {
      if (typeof path !== 'string') return;
      const [file = '', fragment = ''] = path.split('#');
      const page = vscode.Uri.from({ scheme, path: `/${file}`, fragment });
      return vscode.commands.executeCommand('markdown.showPreview', page);
    }),
  );
