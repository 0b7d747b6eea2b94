/** What a model is called wherever it is named: by its graph, by its file, or by its class, the first that says something. */

import type { OnnxModel } from '../formats/onnx/syntax.ts';
import { scopeListOf, withoutPackage } from './moduleScope.ts';

/** `file` is the file's name without its folder. */
export function modelName({ graph }: Pick<OnnxModel, 'graph'>, file: string): string {
  if (saysSomething(graph.name)) return graph.name;
  return usualFile.test(file) ? (classOf(graph) ?? file) : file;
}

/**
 * Names that exporters give every graph. Sources: PyTorch (`main_graph` in torch/onnx/_internal/exporter, `torch_jit` and
 * `torch-jit-export` before), onnx/tensorflow-onnx (`tf2onnx`), apache/mxnet (`mxnet_converted_model`); and what
 * `onnx.utils.Extractor` calls a part of one.
 */
const names: ReadonlySet<string> = new Set([
  '',
  'graph',
  'main',
  'main_graph',
  'model',
  'mxnet_converted_model',
  'tf2onnx',
  'torch-jit-export',
  'torch_jit',
]);

const saysSomething = (name: string): boolean =>
  !names.has(/^Extracted from \{(.*)\}$/.exec(name)?.[1] ?? name);

/** `model.onnx`, as Hugging Face Optimum and many others write it. */
const usualFile = /^model\.\w+$/i;

/** The class of the module that was exported, where the exporter recorded it. */
function classOf({ nodes }: OnnxModel['graph']): string | undefined {
  for (const node of nodes) {
    const scope = scopeListOf(node);
    if (scope === undefined || scope.names[0] !== '' || scope.names.length < 2) continue;
    const name = withoutPackage(scope.classes[0]);
    if (name !== undefined && name !== '') return name;
  }
  return undefined;
}
