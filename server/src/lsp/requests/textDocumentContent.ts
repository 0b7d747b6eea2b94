/** `workspace/textDocumentContent`: the text that stands for a binary model. */

import { onnxLayersScheme, onnxTextScheme } from '../../protocol.ts';
import { stopIfCancelled } from '../answer.ts';
import { modelBehind, showsLayers } from '../virtualText.ts';
import type { Request } from './request.ts';

export const textDocumentContent: Request = {
  capabilities: () => ({
    workspace: { textDocumentContent: { schemes: [onnxTextScheme, onnxLayersScheme] } },
  }),
  serve: ({ connection, handler, files }) => {
    connection.workspace.textDocumentContent.on(
      handler('reading the model', { text: failedText }, async ({ uri }: { uri: string }, token) => {
        const source = modelBehind(uri);
        if (source === undefined) return { text: failedText };
        const file = await files.open(source);
        stopIfCancelled(token);
        return { text: showsLayers(uri) ? file.layers().text : file.text };
      }),
    );
  },
};

/** An empty page would look like an empty model. */
const failedText =
  '# The model cannot be shown: reading it failed inside Layercost.\n# "Layercost: Show Log" has the details. Please report it with the model.\n';
