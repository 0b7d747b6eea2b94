/**
 * The report of a model beside it, or its scaling curve, as a page with charts that follows the model: a changed text or scenario replaces what
 * the page shows and leaves what its reader chose. A click on a layer goes to its line; the line at the cursor marks its layer.
 */

import type * as vscode from 'vscode';
import type { ReportResult, ScenarioChange } from '../../server/src/protocol.ts';
import { OpenPanel, type PageOfModel, type PanelActions, type ReportedModel } from './openPanel.ts';

export interface ReportPanels extends vscode.Disposable {
  /** Opens the panel of the model beside it, or shows the one that is open. */
  readonly show: (reported: ReportedModel, page: ReportResult, nonce: string) => void;
  /** Something about the model is new. */
  readonly refresh: (model: vscode.Uri) => void;
}

export function reportPanels(actions: PanelActions): ReportPanels {
  const open = new Map<string, OpenPanel>();
  /** What was tried in the report is drawn in the scaling page of the same model too. */
  const triedIn = (reported: PageOfModel): readonly ScenarioChange[] =>
    reported.page === 'scaling' ? (open.get(keyOf({ ...reported, page: 'report' }))?.compared() ?? []) : [];
  const shareTried = (reported: PageOfModel): void => {
    if (reported.page === 'report') open.get(keyOf({ ...reported, page: 'scaling' }))?.refresh();
  };
  const ownActions: PanelActions = {
    ...actions,
    askForPage: (of, tried, ...rest) =>
      actions.askForPage(of, { ...tried, compared: [...tried.compared, ...triedIn(of)] }, ...rest),
  };
  return {
    show: (reported, page, nonce) => {
      const key = keyOf(reported);
      const known = open.get(key);
      if (known !== undefined) {
        known.reveal();
        return;
      }
      const listener = {
        tried: () => shareTried(reported),
        closed: () => {
          open.delete(key);
          shareTried(reported);
        },
      };
      open.set(key, new OpenPanel(reported, { page, nonce }, ownActions, listener));
      if (triedIn(reported).length > 0) open.get(key)?.refresh();
    },
    refresh: (model) => {
      for (const panel of open.values()) if (panel.model === model.toString()) panel.refresh();
    },
    dispose: () => {
      for (const panel of [...open.values()]) panel.dispose();
    },
  };
}

export const newNonce = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');

const keyOf = ({ page, model, part }: PageOfModel): string => `${page} ${model.toString()} ${part ?? ''}`;
