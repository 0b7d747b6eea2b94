/** `Layercost: Set Dimensions…` asks for all sizes that a model leaves open at once, and proposes what they usually are. */

import * as vscode from 'vscode';
import type { BaseLanguageClient } from 'vscode-languageclient';
import {
  commands,
  type DimensionChoice,
  type DimensionsParams,
  listDimensions,
  type ScenarioChange,
} from '../../server/src/protocol.ts';
import { type Estimates, openModelFirst } from './estimates.ts';
import { applyScenarioChange, changedModel } from './scenarioSettings.ts';

export function registerSetDimensions(
  client: BaseLanguageClient,
  started: Promise<void>,
  estimates: Estimates,
): vscode.Disposable {
  return vscode.Disposable.from(
    vscode.commands.registerCommand(commands.setDimensions, async (uri?: unknown, part?: unknown) => {
      await started;
      const model = changedModel(estimates, uri, part);
      if (model === undefined) {
        vscode.window.showInformationMessage(openModelFirst());
        return;
      }
      const params: DimensionsParams = {
        uri: client.code2ProtocolConverter.asUri(model.document),
        ...(model.part === undefined ? {} : { model: model.part }),
      };
      const choices = await client.sendRequest<readonly DimensionChoice[]>(listDimensions, params);
      if (choices.length === 0) {
        vscode.window.showInformationMessage(
          vscode.l10n.t('All dimensions of this model are fixed, so there is none to set.'),
        );
        return;
      }
      const dimensions = await ask(choices);
      if (dimensions !== undefined) await applyScenarioChange(client, model, { dimensions }, 'model');
    }),
    // Quick fixes: a finding is about one model, and so is what is done about it.
    vscode.commands.registerCommand(
      commands.changeScenario,
      async (uri: string, change: ScenarioChange, part?: unknown) =>
        applyScenarioChange(client, changedModel(estimates, uri, part), change, 'model'),
    ),
  );
}

async function ask(choices: readonly DimensionChoice[]): Promise<Record<string, number> | undefined> {
  const proposed = choices.map(({ name, value, proposal }) => `${name}=${value ?? proposal}`).join(', ');
  const named = choices.map(({ name, meaning }) =>
    meaning === '' || meaning === name ? name : `${name} (${meaning})`,
  );
  const answer = await vscode.window.showInputBox({
    title: vscode.l10n.t('Layercost: Set Dimensions'),
    prompt: vscode.l10n.t('Sizes that the model leaves open: {0}', named.join(', ')),
    value: proposed,
    validateInput: (text) => {
      const { problem } = readSizes(text, choices);
      return problem;
    },
  });
  return answer === undefined ? undefined : readSizes(answer, choices).sizes;
}

/** `batch=8, seq=512`; a name may hold anything but a comma, and its last `=` stands before the size. */
function readSizes(
  text: string,
  choices: readonly DimensionChoice[],
): { readonly sizes: Record<string, number>; readonly problem: string | undefined } {
  const sizes: Record<string, number> = {};
  for (const part of text.split(',')) {
    if (part.trim() === '') continue;
    const at = part.lastIndexOf('=');
    const [name, size] = [part.slice(0, at).trim(), part.slice(at + 1).trim()];
    if (at < 0 || !/^\d{1,9}$/.test(size))
      return { sizes, problem: vscode.l10n.t('Write NAME=SIZE, with a whole number: {0}', part.trim()) };
    if (!choices.some((choice) => choice.name === name))
      return { sizes, problem: vscode.l10n.t('The model has no dimension {0}', name) };
    sizes[name] = Number(size);
  }
  return { sizes, problem: undefined };
}
