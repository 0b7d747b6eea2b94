/**
 * Scatters that the source records as `scatter_reduce`, as operators of their own.
 *
 * ONNX writes its sums as it does those of `scatter_add`, and onnxscript 0.7 its means as no reduction at all
 * (function_libs/torch_lib/ops/core.py, `aten_scatter_reduce`). Backward keeps more of it (PyTorch 2.13
 * tools/autograd/derivatives.yaml, `scatter_reduce.two`).
 */

import type { GivenLayers } from '../lowering/providedStructure.ts';
import { ownDomain } from '../operators/vocabulary/define.ts';
import type { FlatNode } from './expandFunctions.ts';
import { originOf } from './originOf.ts';

/** The same nodes where no such call is recorded. */
export const namedScatters = (nodes: readonly FlatNode[], given: GivenLayers): readonly FlatNode[] =>
  nodes.map((flat) => {
    const { node, scope, source } = flat;
    if (node.type !== 'ScatterElements' || node.domain !== '') return flat;
    const reduction = node.attributes.get('reduction');
    // Other reductions are of `scatter_reduce` alone.
    if (reduction?.kind === 'string' && reduction.value !== 'add' && reduction.value !== 'none') return flat;
    const called = originOf(scope, source, given).call?.function ?? '';
    return /^aten\.scatter_reduce_?\.two$/.test(called) ? { ...flat, node: asScatterReduce(node) } : flat;
  });

const asScatterReduce = (node: FlatNode['node']): FlatNode['node'] => ({
  ...node,
  domain: ownDomain,
  type: 'ScatterReduce',
});
