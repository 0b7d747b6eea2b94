/**
 * Programs after `run_decompositions()`: functions are written as those of core ATen, and nothing says any more where gradients
 * are off. What can be told is: `detach` has become `alias`, and what takes the place of a parameter was computed without one.
 *
 * Sources, PyTorch 2.13: torch/_decomp/__init__.py (`core_aten_decompositions`); torch/export/exported_program.py
 * (`_decompose_and_get_gm_with_new_signature_constants`, which calls regions in line).
 */

import type { AtenNode, ExportedProgram } from '../../formats/pt2/syntax.ts';
import type { Issue } from '../../model/issue.ts';
import { isInPlace } from './viewWrites.ts';

const prefix = 'torch.ops.aten.';

/** Functions that no decomposition leaves, and those that only decompositions write. */
const whole =
  /^(?:linear|matmul|conv[123]d|batch_norm|layer_norm|group_norm|softmax|log_softmax|dropout|to|einsum|cross_entropy_loss|reshape|flatten|contiguous|scaled_dot_product_attention|lstm|gru)\./;
const written =
  /^(?:convolution|_native_batch_norm\w*|native_batch_norm|native_layer_norm|native_group_norm|native_dropout|_softmax|_log_softmax|_to_copy|addmm|mm|bmm)\./;

/** Whether it is such a program: none writes in place, and one that has neither kind of function is as it was exported. */
export function isDecomposed({ graph }: ExportedProgram): boolean {
  const names = graph.nodes.flatMap(({ target }) =>
    target.startsWith(prefix) ? [target.slice(prefix.length)] : [],
  );
  return (
    names.some((name) => written.test(name)) &&
    !names.some((name) => whole.test(name)) &&
    !graph.nodes.some(isInPlace)
  );
}

/** What `detach` has become. */
export const isFormerDetach = ({ target }: AtenNode): boolean => target === `${prefix}alias.default`;

/** `pt2/decomposed`: what is not in the program any more. */
export function decomposedIssues(program: ExportedProgram): readonly Issue[] {
  const asks = program.inputs.some(
    ({ name, kind }) => kind === 'parameter' && program.graph.tensors.get(name)?.requiresGrad === true,
  );
  if (!asks || !isDecomposed(program)) return [];
  return [
    {
      code: 'pt2/decomposed',
      severity: 'warning',
      message:
        'The program was exported with `run_decompositions()`: functions are costed in their parts, which keep more, and regions of `no_grad` are lost. Save it without, to cost the step that the model trains in',
    },
  ];
}
