/** Attention whose queries share heads of keys, where PyTorch has no fused kernel for it. What it runs instead is not costed. */

import type { TrainingGraph } from '../analysis/modelAnalysis.ts';
import { operatorMarks } from '../analysis/operatorMarks.ts';
import { hasOption } from '../frameworks/registry.ts';
import { hasVendorAttention } from '../hardware/vendorAttention.ts';
import type { Operator } from '../model/graph.ts';
import type { Issue } from '../model/issue.ts';
import type { Precision, Scenario } from '../model/scenario.ts';
import { attributeReaders } from '../operators/attributeReaders.ts';
import { headsOf } from '../operators/vocabulary/heads.ts';

/**
 * Of the kernels of `scaled_dot_product_attention`, FlashAttention and NVIDIA's take shared heads, in half precision, and
 * the memory-efficient one takes none (PyTorch 2.13 aten/src/ATen/native/transformers/cuda/sdp_utils.cpp, `can_use_flash_attention`,
 * `can_use_cudnn_attention` and `can_use_mem_efficient_attention`). FlashAttention of the CPU takes them in every precision.
 */
export function sharedHeadIssues(
  whole: TrainingGraph,
  { precision, framework }: Scenario,
  architecture: string,
): readonly Issue[] {
  const taken = hasVendorAttention(architecture) ? 'all' : takenInHalf[architecture];
  if (taken === undefined || !hasOption(framework.name, 'attention-kernel')) return [];
  const training = whole.folded ?? whole;
  const attentions = training.analysis.graph.operators.filter(
    ({ domain, type }) => type === 'Attention' && domain === '',
  );
  const marks = attentions.length === 0 ? undefined : operatorMarks(training.analysis);
  for (const operator of attentions) {
    const shared = headsShared(training, operator);
    if (shared === undefined) continue;
    const why = whyNotFused(operator, marks?.[operator.index]?.precision ?? precision, taken);
    if (why === undefined) continue;
    const [queries, keys] = shared;
    return [
      {
        code: 'scenario/shared-heads',
        severity: 'warning',
        message: `No fused kernel of PyTorch lets ${queries} heads of queries share ${keys} of keys ${why.where}, first at \`${operator.name || operator.outputs[0]}\`. PyTorch stores all scores there. That is not costed: the step takes longer, and more memory. ${why.fix}`,
        scenarioKey: 'precision',
      },
    ];
  }
  return [];
}

/**
 * What fused kernels take in half precision where heads are shared, by architecture of GPUs without kernels of their own.
 * FlashAttention wants Ampere or newer, and takes no mask. AMD's kernels are not judged.
 */
const takenInHalf: Readonly<Record<string, 'nothing' | 'no mask'>> = {
  kepler: 'nothing',
  maxwell: 'nothing',
  pascal: 'nothing',
  volta: 'nothing',
  turing: 'nothing',
  ampere: 'no mask',
  ada: 'no mask',
  'blackwell-rtx': 'no mask',
};

function whyNotFused(
  { inputs }: Operator,
  precision: Precision,
  taken: 'nothing' | 'no mask' | 'all',
): { readonly where: string; readonly fix: string } | undefined {
  const repeat = 'repeat keys and values before attention';
  if (taken === 'nothing') return { where: 'on this GPU', fix: `Choose a newer GPU, or ${repeat}` };
  if (precision === 'fp32' || precision === 'tf32')
    return { where: `in ${precision}`, fix: `Train in half precision, or ${repeat}` };
  if (taken === 'no mask' && (inputs[3] ?? '') !== '')
    return { where: 'with a mask on this GPU', fix: `Say \`is_causal\` without a mask, or ${repeat}` };
  return undefined;
}

/** Heads of queries and of keys, where these are fewer. */
function headsShared(
  { tensors }: TrainingGraph,
  { inputs, attributes }: Operator,
): readonly [queries: number, keys: number] | undefined {
  const { int } = attributeReaders(attributes);
  const [queries, keys] = (['q_num_heads', 'kv_num_heads'] as const).map((name, index) => {
    const shape = tensors.get(inputs[index] ?? '')?.dimensions;
    return shape === undefined ? undefined : headsOf(shape, int(name, 0))?.heads;
  });
  if (typeof queries !== 'number' || typeof keys !== 'number') return undefined;
  return keys < queries ? [queries, keys] : undefined;
}
