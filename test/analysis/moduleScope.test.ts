import { expect, test } from 'vitest';
import { scopeOfNode } from '../../server/src/analysis/moduleScope.ts';
import { onnxNode } from '../support/onnxModel.ts';

const scope = (name: string, metadata: Readonly<Record<string, string>> = {}) =>
  scopeOfNode({ ...onnxNode('y = Relu(x)', {}, metadata), name });

test('TorchScript records the module path in the name', () => {
  expect(scope('/layer1/layer1.0/conv1/Conv').paths).toEqual([
    '/layer1',
    '/layer1/layer1.0',
    '/layer1/layer1.0/conv1',
  ]);
  expect(scope('/Flatten').paths).toEqual([]);
  expect(scope('Conv_12').paths).toEqual([]);
  expect(scope('').paths).toEqual([]);
});

test('torch.export records names and classes in metadata', () => {
  expect(
    scope('node_conv2d', {
      'pkg.torch.onnx.name_scopes': "['', 'layer1', 'layer1.0', 'layer1.0.conv1', 'conv2d_1']",
      'pkg.torch.onnx.class_hierarchy':
        "['m.ResNet', 'torch.nn.modules.container.Sequential', 'm.BasicBlock', 'torch.nn.modules.conv.Conv2d', 'aten.conv2d.default']",
    }),
  ).toEqual({
    paths: ['layer1', 'layer1.0', 'layer1.0.conv1'],
    moduleClass: 'torch.nn.modules.conv.Conv2d',
    call: { name: 'conv2d_1', function: 'aten.conv2d.default' },
  });
});

test('the namespace stands in where the lists are missing', () => {
  expect(
    scope('node_conv2d', {
      namespace:
        ': m.ResNet/layer1: torch.nn.modules.container.Sequential/layer1.0: m.BasicBlock/conv2d_1: aten.conv2d.default',
    }),
  ).toEqual({
    paths: ['layer1', 'layer1.0'],
    moduleClass: 'm.BasicBlock',
    call: { name: 'conv2d_1', function: 'aten.conv2d.default' },
  });
});

test('metadata that is no list is passed over', () => {
  expect(scope('/a/Relu', { 'pkg.torch.onnx.name_scopes': 'nonsense' }).paths).toEqual(['/a']);
});
