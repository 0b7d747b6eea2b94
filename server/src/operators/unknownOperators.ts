/** Why an operator has no definition: what kind of operator its domain says it is. */

/** The reason in words, to stand in a sentence or for itself. */
export function whyUndefined(domain: string, type: string): string {
  const name = domain === '' ? type : `${domain}.${type}`;
  return `operator \`${name}\` is ${kinds.get(domain) ?? 'not known'}`;
}

/**
 * Whether no operator of this name can exist: the domain is ONNX's own, in a version that is known to the last operator
 * (ONNX 1.23).
 */
export const isNotOfOnnx = (domain: string, version: number): boolean =>
  version <= (newestVersions.get(domain) ?? 0);

const newestVersions: ReadonlyMap<string, number> = new Map([
  ['', 28],
  ['ai.onnx.ml', 5],
  ['ai.onnx.preview', 1],
  ['ai.onnx.preview.training', 1],
]);

const custom =
  'a custom operator of onnxruntime-extensions: its own code and the data decide what comes out and what it costs';

const kinds: ReadonlyMap<string, string> = new Map([
  ['ai.onnx.contrib', custom],
  ['com.microsoft.extensions', custom],
  ['com.microsoft', 'one of ONNX Runtime that this version of Layercost does not know'],
  ['com.microsoft.nchwc', 'one of ONNX Runtime for one processor; save the model before that optimization'],
  ['com.microsoft.experimental', 'an experimental one of ONNX Runtime without a stable definition'],
  ['com.microsoft.dml', 'one that ONNX Runtime fused for DirectML; save the model before that optimization'],
]);
