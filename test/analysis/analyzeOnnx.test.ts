import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { analyzeOnnx } from '../../server/src/analysis/analyzeOnnx.ts';
import { printDimension } from '../../server/src/model/dimension.ts';
import { isKnownShape, type ValueType } from '../../server/src/model/graph.ts';
import { type ModelSketch, onnxGraph, onnxModel, onnxNode } from '../support/onnxModel.ts';

interface Expected {
  /** Shapes as text: `N, 8`; why a type is unknown, behind `?`. */
  readonly shapes?: Readonly<Record<string, string>>;
  /** `code: message`, in part. */
  readonly issues?: readonly string[];
  readonly order?: readonly string[];
}

function check(sketch: ModelSketch, expected: Expected): void {
  const { graph, issues } = analyzeOnnx(onnxModel(sketch));
  for (const [name, shape] of Object.entries(expected.shapes ?? {})) {
    expect(printType(graph.values.get(name)?.type), name).toBe(shape);
  }
  const said = issues.map(({ code, message }) => `${code}: ${message}`);
  expect(said.length, said.join('\n')).toBe((expected.issues ?? []).length);
  (expected.issues ?? []).forEach((part, index) => {
    expect(said[index]).toContain(part);
  });
  if (expected.order !== undefined)
    expect(graph.operators.map(({ outputs }) => outputs[0])).toEqual(expected.order);
}

function printType(type: ValueType | undefined): string {
  if (type?.kind !== 'tensor') return type?.kind === 'unknown' ? `? ${type.reason}` : String(type?.kind);
  return isKnownShape(type.shape) ? type.shape.map(printDimension).join(', ') : `? ${type.shape.reason}`;
}

describe('shapes', () => {
  test('a dimension left open is a symbol of the input, and travels', () => {
    check(
      { inputs: ['x: float32[?, 8]'], outputs: ['y'], nodes: ['y = Relu(x)'] },
      { shapes: { y: 'x.0, 8' } },
    );
  });

  test('dimension parameters are arithmetic', () => {
    check(
      { inputs: ['x: float32[2*s0 + 1, batch*seq]'], outputs: ['y'], nodes: ['y = Relu(x)'] },
      { shapes: { y: '2*s0 + 1, batch*seq' } },
    );
  });

  test('shape arithmetic is followed into a reshape', () => {
    check(
      {
        inputs: ['x: float32[N, 4, 6]'],
        outputs: ['y'],
        initializers: ['zero: int64[] = 0', 'rest: int64[1] = -1', 'axis: int64[1] = 0'],
        nodes: [
          's = Shape(x)',
          'n = Gather(s, zero)',
          'n1 = Unsqueeze(n, axis)',
          onnxNode('t = Concat(n1, rest)', { axis: { kind: 'int', value: 0 } }),
          'y = Reshape(x, t)',
        ],
      },
      { shapes: { y: 'N, 24' } },
    );
  });

  test('a declared type completes what inference does not know', () => {
    check(
      {
        inputs: ['x: float32[N, 4]'],
        outputs: ['z'],
        valueInfos: ['y: float32[N, 7]'],
        nodes: ['y = custom.Thing(x)', 'z = Relu(y)'],
      },
      {
        shapes: { y: 'N, 7', z: 'N, 7' },
        issues: ['graph/unknown-operator: Operator `custom.Thing` is not known'],
      },
    );
  });

  test('a contradicting declaration is said once, and the computed shape used', () => {
    check(
      { inputs: ['x: float32[2, 4]'], outputs: ['y: float32[2, 5]'], nodes: ['y = Relu(x)'] },
      {
        shapes: { y: '2, 4' },
        issues: ['shape/mismatch: `y` is declared as [2, 5] but computed as [2, 4]'],
      },
    );
  });

  test('a size of 0 is open where the batch is, and an empty axis where it is not', () => {
    check(
      {
        inputs: ['x: float32[0, 3, 0]', 'c: float32[2, 0]'],
        outputs: ['y'],
        nodes: ['y = Relu(x)', 'd = Relu(c)'],
      },
      { shapes: { y: 'x.0, 3, x.2', d: '2, 0' } },
    );
  });

  test('an operator that ONNX does not have is an error, one of another domain a warning', () => {
    const { issues } = analyzeOnnx(
      onnxModel({
        inputs: ['x: float32[2]'],
        outputs: ['z'],
        nodes: ['y = custom.Thing(x)', 'z = Convolution(x)'],
      }),
    );
    expect(issues.map(({ code, severity }) => `${severity}: ${code}`)).toEqual([
      'warning: graph/unknown-operator',
      'error: graph/unknown-operator',
    ]);
  });

  test('a size that the file stores without data is asked for; weights are not', () => {
    check(
      {
        inputs: ['x: float32[2, 3]'],
        initializers: ['w: float32[3, 4]', 't: int64[2]'],
        outputs: ['z'],
        nodes: ['y = MatMul(x, w)', 'z = Reshape(y, t)'],
      },
      { shapes: { z: '?, ?' }, issues: ['graph/missing-contents: Reshape `z` takes a size from `t`'] },
    );
  });

  test('an input without element type is asked for it', () => {
    check(
      { inputs: ['x: undefined[2]'], outputs: ['z'], nodes: ['z = Relu(x)'] },
      { shapes: { z: '2' }, issues: ['graph/missing-type: Input `x`'] },
    );
  });

  test('what follows an unknown operator is unknown, with the reason', () => {
    check(
      { inputs: ['x: float32[2]'], outputs: ['z'], nodes: ['y = custom.Thing(x)', 'z = Relu(y)'] },
      {
        shapes: { z: '? operator `custom.Thing` is not known' },
        issues: ['graph/unknown-operator'],
      },
    );
  });

  test('branches of If see the names around them', () => {
    const branch = onnxGraph({ outputs: ['b'], nodes: ['b = Relu(x)'] });
    check(
      {
        inputs: ['c: bool[]', 'x: float32[N, 3]'],
        outputs: ['y'],
        nodes: [
          onnxNode('y = If(c)', {
            then_branch: { kind: 'graph', value: branch },
            else_branch: { kind: 'graph', value: branch },
          }),
        ],
      },
      { shapes: { y: 'N, 3' } },
    );
  });

  test('operators that contradict their inputs are named', () => {
    check(
      {
        inputs: ['a: float32[2, 3]', 'b: float32[4, 5]'],
        outputs: ['y'],
        nodes: ['product: y = MatMul(a, b)'],
      },
      { issues: ['shape/mismatch: MatMul `product`: '] },
    );
  });
});

describe('graphs that are wrong', () => {
  test('a cycle is named once; the rest is still inferred', () => {
    check(
      {
        inputs: ['x: float32[2]'],
        outputs: ['c', 'd'],
        nodes: ['one: a = Add(x, b)', 'two: b = Relu(a)', 'c = Relu(b)', 'd = Relu(x)'],
      },
      {
        shapes: { d: '2' },
        issues: ['graph/cycle: The graph has a cycle through `one`, `two`;'],
      },
    );
  });

  test('an undefined name is said once', () => {
    check(
      { inputs: [], outputs: ['b'], nodes: ['one: a = Relu(gone)', 'b = Add(a, gone)'] },
      { issues: ['graph/undefined-value: Relu `one` reads `gone`, which nothing defines'] },
    );
  });

  test('an output that nothing computes', () => {
    check(
      { inputs: ['x: float32[1]'], outputs: ['gone'], nodes: ['a = Relu(x)'] },
      { issues: ['graph/undefined-value: The graph lists the output `gone`'] },
    );
  });

  test('a value defined twice keeps its first definition', () => {
    check(
      {
        inputs: ['x: float32[2]', 'z: float32[3]'],
        outputs: ['y'],
        nodes: ['one: y = Relu(x)', 'two: y = Relu(z)'],
      },
      { shapes: { y: '2' }, issues: ['graph/duplicate-value: Relu `two` defines `y` again'] },
    );
  });

  test('an operator may stand before what it needs', () => {
    check(
      { inputs: ['x: float32[2]'], outputs: ['b'], nodes: ['b = Relu(a)', 'a = Relu(x)'] },
      { order: ['a', 'b'], shapes: { b: '2' } },
    );
  });
});

describe('functions', () => {
  const block = {
    name: 'Block',
    domain: 'local',
    overload: '',
    inputs: ['in', 'weight'],
    outputs: ['out'],
    attributes: [],
    defaults: new Map(),
    operatorSets: [{ domain: '', version: 17 }],
    nodes: [onnxNode('m: hidden = MatMul(in, weight)'), onnxNode('out = Relu(hidden)')],
    valueInfos: [],
  };

  test('a call is expanded under its name, as often as it is made', () => {
    const { graph, layers } = analyzeOnnx(
      onnxModel({
        inputs: ['x: float32[N, 4]'],
        outputs: ['z'],
        initializers: ['w: float32[4, 4]', 'v: float32[4, 8]'],
        nodes: ['first: y = local.Block(x, w)', 'second: z = local.Block(y, v)'],
        functions: [block],
      }),
    );
    expect(graph.operators.map(({ name, source }) => [name, source])).toEqual([
      ['/first/m', 0],
      ['/first/Relu', 0],
      ['/second/m', 1],
      ['/second/Relu', 1],
    ]);
    expect(printType(graph.values.get('z')?.type)).toBe('N, 8');
    expect(layers.map(({ name }) => name)).toEqual(['/first', '/second']);
  });

  test('a function that calls itself is refused', () => {
    const endless = { ...block, nodes: [onnxNode('out = local.Block(in, weight)')] };
    const { issues } = analyzeOnnx(
      onnxModel({
        inputs: ['x: float32[1]'],
        outputs: ['y'],
        nodes: ['y = local.Block(x, x)'],
        functions: [endless],
      }),
    );
    expect(issues[0]?.message).toContain('Function `Block` calls itself');
  });
});

describe('batch', () => {
  const batch = (shape: string) => {
    const { batchSymbol, fixedBatch } = analyzeOnnx(
      onnxModel({
        inputs: [`x: float32[${shape}]`, 'w: float32[8, 8]'],
        initializers: ['w: float32[8, 8]'],
        outputs: ['y'],
        nodes: ['y = MatMul(x, w)'],
      }),
    );
    return { batchSymbol, fixedBatch };
  };

  test.each([
    ['N, 8', { batchSymbol: 'N', fixedBatch: undefined }],
    ['?, 8', { batchSymbol: 'x.0', fixedBatch: undefined }],
    ['32, 8', { batchSymbol: undefined, fixedBatch: 32 }],
  ])('[%s]', (shape, expected) => {
    expect(batch(shape)).toEqual(expected);
  });
});

test('any wiring of operators is ordered, grouped and never throws', () => {
  const name = fc.integer({ min: 0, max: 12 }).map((number) => `v${number}`);
  const node = fc
    .tuple(fc.constantFrom('Add', 'MatMul', 'Concat', 'Nonsense', 'Reshape', 'Shape'), name, name, name)
    .map(([type, output, left, right]) => `${output} = ${type}(${left}, ${right})`);
  fc.assert(
    fc.property(fc.array(node, { maxLength: 20 }), fc.array(name, { maxLength: 3 }), (nodes, outputs) => {
      const { graph, layers } = analyzeOnnx(
        onnxModel({ inputs: ['v0: float32[N, 4]'], initializers: ['v1: float32[4, 4]'], outputs, nodes }),
      );
      expect(graph.operators.map(({ source }) => source).sort((a, b) => a - b)).toEqual(
        nodes.map((_, i) => i),
      );
      expect(layers.flatMap(({ operators }) => operators).sort((a, b) => a - b)).toEqual(
        nodes.map((_, i) => i),
      );
      expect(new Set(layers.map((layer) => layer.name)).size).toBe(layers.length);
    }),
  );
});
