/** Whether stored weights are those of a model: as many numbers as it has parameters. */

import type { StoredTensor } from '../formats/storedTensor.ts';
import { formatBytes, formatCount } from '../model/format.ts';
import type { Issue } from '../model/issue.ts';
import { totalElements } from '../model/totalElements.ts';
import { bytes } from '../model/units.ts';
import type { ModelAnalysis } from './modelAnalysis.ts';

export function compareWeights(
  tensors: readonly StoredTensor[],
  { parameters, frozen }: Pick<ModelAnalysis, 'parameters' | 'frozen'>,
): Issue {
  const learned = tensors.filter((tensor) => !isBuffer(tensor));
  const stored = totalElements(learned);
  const described = totalElements([...parameters, ...frozen]);
  const issue = (severity: Issue['severity'], verdict: string): Issue => ({
    code: 'config/weights',
    severity,
    message: `The weights hold ${describeWeights(learned)}; ${verdict}`,
  });
  if (stored === described) return issue('information', 'the config describes as many parameters');
  if (tensors.some(({ name, elementType }) => packedTypes.has(elementType) && /weight|blocks/.test(name)))
    return issue('information', 'they are quantized, and were not compared with the config');
  return issue(
    'warning',
    `the config describes ${formatCount(described)} parameters: check that both are of one model`,
  );
}

/** "8,030,261,248 numbers in 291 tensors (BF16, 15.0 GiB)". */
export function describeWeights(tensors: readonly StoredTensor[]): string {
  const size = tensors.reduce((total, tensor) => total + tensor.bytes, 0);
  const types = [...new Set(tensors.map(({ elementType }) => elementType))].sort().join(', ');
  return `${formatCount(totalElements(tensors))} numbers in ${formatCount(tensors.length)} tensors (${types}, ${formatBytes(bytes(size))})`;
}

/**
 * What modules of transformers keep beside their parameters: angles of rotary positions, positions, causal masks of GPT-2 and
 * GPT-NeoX, statistics of batch normalization. A GGUF file calls the angles `rope_freqs` or `rope_factors`.
 */
const isBuffer = ({ name, shape }: StoredTensor): boolean =>
  /(^|\.)(rope_freqs|rope_factors_(long|short))\.weight$|(^|\.)(inv_freq|position_ids|token_type_ids|masked_bias|num_batches_tracked|running_mean|running_var)$/.test(
    name,
  ) ||
  (/(^|\.)(attn|attention)\.bias$/.test(name) && shape.length === 4);

/** Types that quantized weights are stored in; the numbers of a file are then fewer or more than parameters. */
const packedTypes: ReadonlySet<string> = new Set(['U8', 'I8', 'I32', 'U32', 'F8_E4M3', 'F8_E5M2', 'F4']);
