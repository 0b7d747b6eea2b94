/** Addresses of the read-only texts that stand for binary models. */

import { URI } from 'vscode-uri';
import { onnxTextScheme } from '../protocol.ts';

/** The binary model behind the address of a text; `undefined` for any other address. */
export function modelBehind(uri: string): string | undefined {
  const parsed = URI.parse(uri);
  return parsed.scheme === onnxTextScheme && parsed.query !== '' ? parsed.query : undefined;
}

/** The last part of an address's path, for messages and names. */
export const fileName = (uri: string): string => URI.parse(uri).path.split('/').pop() ?? '';
