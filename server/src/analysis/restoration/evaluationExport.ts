/** Tells an export in evaluation mode, in which modules that act at random in training leave nothing behind. */

import type { OnnxModel, OnnxNode } from '../../formats/onnx/syntax.ts';
import type { Issue } from '../../model/issue.ts';
import { hasTrait } from '../../operators/operatorFacts.ts';
import { scopeListOf } from '../moduleScope.ts';

/**
 * What a step leaves out because PyTorch's exporter saw the model in evaluation mode; `undefined` where it did not, or where
 * nothing shows it. `isFolded` says that normalizations were folded in that mode.
 */
export function evaluationExport({ graph, producerName }: OnnxModel, isFolded: boolean): Issue | undefined {
  if (producerName !== 'pytorch' || graph.nodes.some((node) => hasTrait(node, 'random'))) return undefined;
  const modules = new Set(graph.nodes.flatMap((node) => dropoutModule(node) ?? []));
  if (modules.size > 0) {
    const [first] = modules;
    return {
      code: 'graph/evaluation-export',
      severity: 'warning',
      message: `${modules.size === 1 ? '1 dropout module is' : `${modules.size} dropout modules are`} missing from the step, first \`${first}\`: the model was exported in evaluation mode; ${howToExport}`,
    };
  }
  if (!isFolded && !graph.nodes.some(isEvaluated)) return undefined;
  return {
    code: 'graph/evaluation-export',
    severity: 'information',
    message: `The model was exported in evaluation mode, so its dropout and stochastic depth, if any, are missing from the step; ${howToExport}`,
  };
}

const howToExport =
  'call `model.train()` before the export, with `training=TrainingMode.TRAINING` in the TorchScript exporter';

/** The module of an operator that stands where a dropout has done nothing. */
function dropoutModule(node: OnnxNode): string | undefined {
  const scopes = scopeListOf(node);
  const last = (scopes?.names.length ?? 0) - 2;
  return last > 0 &&
    /\.(Alpha|Feature)?Dropout\w*$|\.(DropPath|StochasticDepth)$/.test(scopes?.classes[last] ?? '')
    ? scopes?.names[last]
    : undefined;
}

/** A normalization with running statistics: `_native_batch_norm_legit_no_training`, or one result and no training mode. */
function isEvaluated(node: OnnxNode): boolean {
  const call = node.metadata.get('pkg.torch.onnx.fx_node');
  if (call !== undefined) return /_no_training\b/.test(call);
  const mode = node.attributes.get('training_mode');
  const isTrained = mode?.kind === 'int' && mode.value === 1;
  return node.type === 'BatchNormalization' && node.outputs.length === 1 && !isTrained;
}
