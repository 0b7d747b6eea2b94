/** `workspace/didChangeConfiguration`: every open document is costed again. */

import { DidChangeConfigurationNotification } from '../languageServer.ts';
import type { Request } from './request.ts';

export const configuration: Request = {
  serve: ({ connection, inBackground, session, settings, documents, texts }) => {
    connection.onInitialized(() =>
      inBackground('starting', async () => {
        if (session.client.workspace?.didChangeConfiguration?.dynamicRegistration)
          await connection.client.register(DidChangeConfigurationNotification.type, { section: 'layercost' });
        connection.console.info('language server is ready');
      }),
    );
    connection.onDidChangeConfiguration((change) => {
      settings.forget(change.settings);
      for (const document of texts.all()) documents.touch(document, 'other');
    });
  },
};
