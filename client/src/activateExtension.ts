/** Wires the extension: one server, and the few things that only an editor can do. */

import * as vscode from 'vscode';
import type { LanguageClientOptions } from 'vscode-languageclient';
import {
  commands,
  explainIssue,
  type InitializationOptions,
  languageIds,
  trustGranted,
} from '../../server/src/protocol.ts';
import { registerBenchmark } from './benchmark.ts';
import { registerBenchmarkResults } from './benchmarkResults.ts';
import { registerClusterPicker } from './clusterPicker.ts';
import { registerCompareRevision } from './compareRevision.ts';
import { registerCostThisModel } from './costThisModel.ts';
import { registerCostTree } from './costTree.ts';
import { trackEstimates } from './estimates.ts';
import { answerFileRequests } from './fileBytes.ts';
import { registerFrameworkPicker } from './frameworkPicker.ts';
import { registerHeatMarks } from './heatMarks.ts';
import { registerIssuePages } from './issuePages.ts';
import { registerListFixes } from './listFixes.ts';
import { registerModelTexts } from './modelTexts.ts';
import { registerNewSpec } from './newSpec.ts';
import { registerOnnxEditor } from './onnxEditor.ts';
import { registerOnnxTextFiles } from './onnxTextFiles.ts';
import { registerOpenConfig } from './openConfig.ts';
import { registerPlanParallelism } from './planParallelism.ts';
import type { ClientPlatform } from './platform.ts';
import { registerPythonLines } from './pythonLines.ts';
import { registerReadCost } from './readCost.ts';
import { registerReport } from './report.ts';
import { registerSetDimensions } from './setDimensions.ts';
import { registerStatus } from './status.ts';

export async function activateExtension(
  context: vscode.ExtensionContext,
  platform: ClientPlatform,
): Promise<void> {
  const log = vscode.window.createOutputChannel('Layercost', { log: true });
  const trace = vscode.window.createOutputChannel('Layercost Trace', { log: true });
  // Asked for at every start: a server that is started again learns what holds by then.
  const initializationOptions = (): InitializationOptions => ({
    trusted: vscode.workspace.isTrusted,
    readsBytes: true,
    hasCommands: true,
    issuesPage: `command:${explainIssue}`,
    ...shownOfHints(),
  });
  const options: LanguageClientOptions = {
    // No scheme: estimation works in virtual workspaces too.
    documentSelector: Object.values(languageIds).map((language) => ({ language })),
    outputChannel: log,
    traceOutputChannel: trace,
    initializationOptions,
  };
  const client = platform.createClient(context, 'Layercost', options);
  const started = client.start().catch((error: unknown) => {
    log.error('the language server did not start', error instanceof Error ? error : String(error));
    throw error;
  });

  const estimates = trackEstimates(client);
  const onnxTextFiles = registerOnnxTextFiles(client, started);
  context.subscriptions.push(
    log,
    trace,
    client,
    estimates,
    answerFileRequests(client),
    onnxTextFiles,
    registerOnnxEditor(started, log),
    registerModelTexts(client, started),
    registerListFixes(client, started),
    registerOpenConfig(client, started),
    registerNewSpec(started),
    registerIssuePages(context.extensionUri),
    registerStatus(client, estimates),
    registerClusterPicker(client, started, estimates),
    registerFrameworkPicker(client, started, estimates),
    registerPlanParallelism(client, started, estimates),
    registerSetDimensions(client, started, estimates),
    registerHeatMarks(client, started, estimates),
    registerCostTree(client, started, estimates),
    registerPythonLines(client, started, estimates),
    registerReadCost(started),
    registerReport(client, started, estimates),
    registerCompareRevision(client, platform.canBenchmark, started, estimates),
    vscode.commands.registerCommand(commands.showLog, () => log.show()),
    registerBenchmark(client, platform.canBenchmark, estimates, log),
    registerBenchmarkResults(client, started, estimates),
    registerCostThisModel(client, started, platform.canBenchmark, context.workspaceState, onnxTextFiles, log),
    vscode.workspace.onDidGrantWorkspaceTrust(() => {
      started.then(() => client.sendNotification(trustGranted)).catch(() => {});
    }),
  );
  await started;
}

/** Of our languages the limit is off, unless somebody chose another. */
function shownOfHints(): Pick<InitializationOptions, 'longestHint'> {
  const editor = vscode.workspace.getConfiguration('editor', { languageId: languageIds.layerSpec });
  const isKnown = editor.inspect('inlayHints.maximumLength')?.defaultValue !== undefined;
  const chosen = isKnown ? editor.get<number>('inlayHints.maximumLength', 0) : lengthWithoutSetting;
  return chosen > 0 ? { longestHint: chosen } : {};
}

/** What editors show of the hints of a line that have no `editor.inlayHints.maximumLength` yet, as VS Code 1.91. */
const lengthWithoutSetting = 43;
