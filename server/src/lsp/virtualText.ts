/** Addresses of the read-only texts that stand for binary models. */

import { URI, Utils } from 'vscode-uri';
import { onnxLayersScheme, onnxTextScheme } from '../protocol.ts';

/** The binary model behind the address of a text; `undefined` for any other address. */
export function modelBehind(uri: string): string | undefined {
  const parsed = URI.parse(uri);
  const isVirtual = parsed.scheme === onnxTextScheme || parsed.scheme === onnxLayersScheme;
  return isVirtual && parsed.query !== '' ? parsed.query : undefined;
}

/** Whether the text behind an address shows a binary model as layers. */
export const showsLayers = (uri: string): boolean => URI.parse(uri).scheme === onnxLayersScheme;

/** The last part of an address's path, for messages and names. */
export const fileName = (uri: string): string => URI.parse(uri).path.split('/').pop() ?? '';

/** Half of a pair of UTF-16: no file has it in its name, and no address can write it. */
const halfCharacter = /\p{Cs}/u;

/** The address of a path beside a file; `undefined` for one that is absolute, or that no file can have. */
export function resolvePath(uri: string, path: string): string | undefined {
  if (path === '' || halfCharacter.test(path) || /^([a-z][a-z0-9+.-]*:|[/\\])/i.test(path)) return undefined;
  return Utils.resolvePath(Utils.dirname(URI.parse(uri)), path).toString();
}

export const folderOf = (uri: string): string => Utils.dirname(URI.parse(uri)).toString();

/** The innermost of these folders that holds a file. */
export const holdingFolder = (uri: string, folders: readonly string[]): string | undefined =>
  folders
    .filter((folder) => uri.startsWith(folder.endsWith('/') ? folder : `${folder}/`))
    .toSorted((left, right) => right.length - left.length)[0];

/**
 * The address of a path of the settings: in the workspace folder of the model, else beside the model. In a folder that
 * is not trusted, a path of another machine (`\\server\share`) has none: looking at it sends credentials there.
 */
export function resolveInWorkspace(
  path: string,
  model: string,
  folders: readonly string[],
  trusted: boolean,
): string | undefined {
  if (halfCharacter.test(path)) return undefined;
  const { scheme } = URI.parse(model);
  if (/^[\\/]{2}/.test(path)) return trusted && scheme === 'file' ? URI.file(path).toString() : undefined;
  if (/^(?:\/|[a-z]:[\\/])/i.test(path)) {
    return scheme === 'file' ? URI.file(path).toString() : undefined;
  }
  const base = holdingFolder(model, folders) ?? folderOf(model);
  return Utils.resolvePath(URI.parse(base), path.replaceAll('\\', '/')).toString();
}
