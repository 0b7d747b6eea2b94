/** What models are called: graphs that exporters name alike are called after their file, or the class that was exported. */

import { expect, it } from 'vitest';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { encodeModel } from '../support/onnxBytes.ts';

const scopes = (root: string, name: string) => ({
  'pkg.torch.onnx.name_scopes': `['${name}', 'act', 'relu']`,
  'pkg.torch.onnx.class_hierarchy': `['${root}', 'torch.nn.modules.activation.ReLU', 'aten.relu.default']`,
});

it.each<[graph: string, file: string, metadata: Readonly<Record<string, string>>, called: string]>([
  ['resnet50', 'model.onnx', {}, 'resnet50'],
  ['main_graph', 'bert-base.onnx', {}, 'bert-base.onnx'],
  ['torch_jit', 'yolo.onnx', {}, 'yolo.onnx'],
  ['torch-jit-export', 'yolo.onnx', {}, 'yolo.onnx'],
  ['', 'yolo.onnx', {}, 'yolo.onnx'],
  ['Extracted from {main_graph}', 'head.onnx', {}, 'head.onnx'],
  ['Extracted from {resnet50}', 'head.onnx', {}, 'Extracted from {resnet50}'],
  ['main_graph', 'bert-base.onnx', scopes('transformers.models.bert.BertModel', ''), 'bert-base.onnx'],
  ['main_graph', 'model.onnx', scopes('transformers.models.bert.BertModel', ''), 'BertModel'],
  ['main_graph', 'model.onnx', {}, 'model.onnx'],
  // The outermost scope is not that of the whole model, or its class was not recorded.
  ['main_graph', 'model.onnx', scopes('torch.nn.Sequential', 'body'), 'model.onnx'],
  ['main_graph', 'model.onnx', scopes('', ''), 'model.onnx'],
])('%s in %s with %j', (graph, file, metadata, called) => {
  const content = encodeModel({
    graph: {
      name: graph,
      inputs: { x: 'float[2,4]' },
      outputs: { y: 'float[2,4]' },
      nodes: [{ type: 'Relu', name: 'relu', inputs: ['x'], outputs: ['y'], metadata }],
    },
  });
  expect(openModel(byteSourceOfBuffer(content), file).name).toBe(called);
});
