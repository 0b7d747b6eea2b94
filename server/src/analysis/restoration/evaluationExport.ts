/** Tells an export in evaluation mode, in which modules that act at random in training leave nothing behind. */

import type { OnnxModel, OnnxNode } from '../../formats/onnx/syntax.ts';
import type { Issue } from '../../model/issue.ts';
import { hasTrait } from '../../operators/operatorFacts.ts';
import { scopeListOf } from '../moduleScope.ts';

/**
 * What a step leaves out because PyTorch's exporter saw the model in evaluation mode, or may leave out where nothing shows the
 * mode; `undefined` where it saw the model in training mode. `isFolded` says that normalizations were folded in evaluation mode.
 */
export function evaluationExport({ graph, producerName }: OnnxModel, isFolded: boolean): Issue | undefined {
  if (producerName !== 'pytorch' || graph.nodes.some((node) => hasTrait(node, 'random'))) return undefined;
  const modes = new Set(graph.nodes.flatMap((node) => modeOf(node) ?? []));
  if (modes.has('training')) return undefined;
  const code = 'graph/evaluation-export';
  const modules = new Set(graph.nodes.flatMap((node) => dropoutModule(node) ?? []));
  if (modules.size > 0) {
    const [first] = modules;
    return {
      code,
      severity: 'warning',
      message: `${modules.size === 1 ? '1 dropout module does' : `${modules.size} dropout modules do`} nothing in the file, first \`${first}\`: the model was exported in evaluation mode, or its dropout is 0; the step leaves them out; ${howToExport}`,
    };
  }
  const isEvaluated = isFolded || modes.has('evaluation');
  const message = isEvaluated
    ? 'The model was exported in evaluation mode. Its dropout, stochastic depth and auxiliary heads, if any, are missing from the step'
    : 'The file has no dropout or stochastic depth. If the model has any, it was exported in evaluation mode, and the step leaves them and auxiliary heads out';
  return { code, severity: 'information', message: `${message}; ${howToExport}` };
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

/** The mode that a batch normalization was exported in, with the statistics of the batch or running ones. */
function modeOf(node: OnnxNode): 'training' | 'evaluation' | undefined {
  const call = /\baten\.(_native_batch_norm_legit\w*)/.exec(
    node.metadata.get('pkg.torch.onnx.fx_node') ?? '',
  )?.[1];
  if (call !== undefined) return call.endsWith('_no_training') ? 'evaluation' : 'training';
  if (node.type !== 'BatchNormalization') return undefined;
  const mode = node.attributes.get('training_mode');
  const isTrained = node.outputs.length > 1 || (mode?.kind === 'int' && mode.value === 1);
  return isTrained ? 'training' : 'evaluation';
}
