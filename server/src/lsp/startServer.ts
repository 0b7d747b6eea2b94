/** The language server over any connection, on any platform. Each request has a file of its name in `requests/`. */

import type { Connection } from 'vscode-languageserver';
import type { Platform } from './platform.ts';
import { benchmark } from './requests/benchmark.ts';
import { benchmarkResults } from './requests/benchmarkResults.ts';
import { choices } from './requests/choices.ts';
import { codeActions } from './requests/codeActions.ts';
import { codeLens } from './requests/codeLens.ts';
import { comparedStates } from './requests/compareEarlier.ts';
import { completion } from './requests/completion.ts';
import { configSpec } from './requests/configSpec.ts';
import { configuration } from './requests/configuration.ts';
import { costs } from './requests/costs.ts';
import { definition } from './requests/definition.ts';
import { diagnostics } from './requests/diagnostics.ts';
import { documentHighlights } from './requests/documentHighlights.ts';
import { documentLinks } from './requests/documentLinks.ts';
import { documentSymbols } from './requests/documentSymbols.ts';
import { exportedPython } from './requests/exportPython.ts';
import { foldingRanges } from './requests/foldingRanges.ts';
import { formatting } from './requests/formatting.ts';
import { hover } from './requests/hover.ts';
import { inlayHints } from './requests/inlayHints.ts';
import { serveLifecycle } from './requests/lifecycle.ts';
import { modelTexts } from './requests/modelTexts.ts';
import { moduleCosts } from './requests/moduleCosts.ts';
import { plannedLayouts } from './requests/planLayouts.ts';
import { pythonLines } from './requests/pythonLines.ts';
import { references } from './requests/references.ts';
import { rename } from './requests/rename.ts';
import { report } from './requests/report.ts';
import type { Request } from './requests/request.ts';
import { scenario } from './requests/scenario.ts';
import { selectionRanges } from './requests/selectionRanges.ts';
import { semanticTokens } from './requests/semanticTokens.ts';
import { signatureHelp } from './requests/signatureHelp.ts';
import { textDocumentContent } from './requests/textDocumentContent.ts';
import { textSynchronization } from './requests/textSynchronization.ts';
import { triedScenarios } from './requests/tryScenario.ts';
import { watchedFiles } from './requests/watchedFiles.ts';
import { workspaceSymbols } from './requests/workspaceSymbols.ts';
import { serverContext } from './serverContext.ts';

const requests: readonly Request[] = [
  textSynchronization,
  configuration,
  watchedFiles,
  textDocumentContent,
  diagnostics,
  hover,
  inlayHints,
  codeLens,
  codeActions,
  completion,
  signatureHelp,
  definition,
  references,
  documentHighlights,
  rename,
  formatting,
  selectionRanges,
  semanticTokens,
  documentLinks,
  documentSymbols,
  workspaceSymbols,
  foldingRanges,
  choices,
  configSpec,
  modelTexts,
  scenario,
  costs,
  moduleCosts,
  pythonLines,
  report,
  triedScenarios,
  comparedStates,
  plannedLayouts,
  benchmark,
  benchmarkResults,
  exportedPython,
];

export function startServer(connection: Connection, platform: Platform): void {
  const context = serverContext(connection, platform);
  serveLifecycle(context, requests);
  for (const request of requests) request.serve(context);
  connection.listen();
}
