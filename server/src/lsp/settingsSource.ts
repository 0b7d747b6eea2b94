/** Settings per resource, asked of the editor once and kept until they change. */

import type { Connection } from 'vscode-languageserver';
import { URI } from 'vscode-uri';
import { defaultSettings, readSettings, type Settings, settingsForModel } from './settings.ts';

export interface SettingsSource {
  of(uri: string): Promise<Settings>;
  /** They changed; `sent` is what an editor without `workspace/configuration` sends along. */
  forget(sent: unknown): void;
}

export function settingsSource(connection: Connection, canAsk: () => boolean): SettingsSource {
  const known = new Map<string, Promise<Settings>>();
  let pushed: Settings = defaultSettings;
  const logged = (sent: unknown): Settings => {
    const { settings, problems } = readSettings(sent);
    for (const problem of problems) connection.console.warn(problem);
    return settings;
  };
  const forModel = (settings: Settings, uri: string): Settings => {
    const { settings: own, problems } = settingsForModel(settings, URI.parse(uri).path);
    for (const problem of problems) connection.console.warn(problem);
    return own;
  };
  return {
    of: (uri) => {
      if (!canAsk()) return Promise.resolve(forModel(pushed, uri));
      const asked =
        known.get(uri) ??
        connection.workspace
          .getConfiguration({ scopeUri: uri, section: 'layercost' })
          .then((sent) => forModel(logged(sent), uri));
      known.set(uri, asked);
      asked.catch(() => known.delete(uri));
      return asked;
    },
    forget: (sent) => {
      known.clear();
      if (typeof sent === 'object' && sent !== null && 'layercost' in sent) pushed = logged(sent.layercost);
    },
  };
}
