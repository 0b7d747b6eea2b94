/** What the editor says of itself when it connects. */

import type { InitializeParams } from 'vscode-languageserver';
import type { InitializationOptions } from '../protocol.ts';
import type { Platform } from './platform.ts';

export interface Session {
  options: InitializationOptions;
  trusted: boolean;
  client: InitializeParams['capabilities'];
}

export function connect(
  session: Session,
  { capabilities, initializationOptions }: InitializeParams,
  { issuesPage }: Pick<Platform, 'issuesPage'>,
): void {
  session.client = capabilities;
  session.options = {
    ...(issuesPage === undefined ? {} : { issuesPage }),
    ...readOptions(initializationOptions),
  };
  session.trusted = session.options.trusted === true;
}

/** Another editor may send anything at all here. */
function readOptions(sent: unknown): InitializationOptions {
  if (typeof sent !== 'object' || sent === null) return {};
  const has = (key: string): boolean =>
    Object.entries(sent).some(([name, value]) => name === key && value === true);
  const page = 'issuesPage' in sent && typeof sent.issuesPage === 'string' ? sent.issuesPage : undefined;
  return {
    trusted: has('trusted'),
    readsBytes: has('readsBytes'),
    hasCommands: has('hasCommands'),
    ...(page === undefined ? {} : { issuesPage: page }),
    ...('longestHint' in sent && isCount(sent.longestHint) ? { longestHint: sent.longestHint } : {}),
  };
}

const isCount = (value: unknown): value is number => Number.isInteger(value) && Number(value) > 0;
