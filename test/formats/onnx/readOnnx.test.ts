import { describe, expect, test } from 'vitest';
import { byteSourceOfBuffer } from '../../../server/src/formats/byteSource.ts';
import { readOnnx } from '../../../server/src/formats/onnx/readOnnx.ts';
import { leavesFolder } from '../../../server/src/formats/onnx/readTensor.ts';
import type { OnnxModel } from '../../../server/src/formats/onnx/syntax.ts';
import {
  bytesField,
  encodeModel,
  float32Field,
  joinBytes,
  type ModelDescription,
  stringField,
  type TensorDescription,
  varintField,
} from '../../support/onnxBytes.ts';

function read(description: ModelDescription): { model: OnnxModel; codes: string[]; messages: string[] } {
  const { model, issues } = readOnnx(byteSourceOfBuffer(encodeModel(description)));
  if (model === undefined) throw new Error(issues.map((issue) => issue.message).join('\n'));
  return {
    model,
    codes: issues.map((issue) => issue.code),
    messages: issues.map((issue) => issue.message),
  };
}

function readTensor(tensor: TensorDescription) {
  const { model, codes } = read({ graph: { initializers: [{ name: 't', ...tensor }] } });
  const [literal] = model.graph.initializers;
  if (literal === undefined) throw new Error('no initializer');
  return { literal, codes };
}

const noName = { graph: {} };

describe('a model', () => {
  test('has its header, operator sets and metadata', () => {
    const { model, codes } = read({
      irVersion: 9,
      producerName: 'pytorch',
      producerVersion: '2.13',
      domain: 'org.example',
      modelVersion: 3,
      operatorSets: { '': 21, 'com.microsoft': 1 },
      metadata: { author: 'Zoë' },
      graph: { name: 'main' },
    });
    expect(codes).toEqual([]);
    expect(model).toMatchObject({
      irVersion: 9,
      producerName: 'pytorch',
      producerVersion: '2.13',
      domain: 'org.example',
      modelVersion: 3,
      operatorSets: [
        { domain: '', version: 21 },
        { domain: 'com.microsoft', version: 1 },
      ],
    });
    expect(model.graph.name).toBe('main');
    expect([...model.metadata]).toEqual([['author', 'Zoë']]);
  });

  test('has nodes with scopes as the dynamo exporter writes them', () => {
    const metadata = {
      namespace: ': model/layer1: Sequential/conv: Conv2d',
      'pkg.torch.onnx.class_hierarchy': "['Model', 'Sequential', 'Conv2d']",
      'pkg.torch.onnx.name_scopes': "['', 'layer1', 'layer1.conv']",
    };
    const { model } = read({
      graph: {
        nodes: [
          {
            type: 'Conv',
            name: 'node_conv',
            domain: 'custom',
            overload: 'fast',
            inputs: ['x', '', 'b'],
            outputs: ['y'],
            metadata,
          },
        ],
      },
    });
    expect(model.graph.nodes).toEqual([
      {
        name: 'node_conv',
        type: 'Conv',
        domain: 'custom',
        overload: 'fast',
        inputs: ['x', '', 'b'],
        outputs: ['y'],
        attributes: new Map(),
        metadata: new Map(Object.entries(metadata)),
      },
    ]);
  });

  test('has values of every kind of type', () => {
    const { model } = read({
      graph: {
        inputs: {
          image: 'float[N,3,?,224]',
          scalar: 'int64',
          unranked: 'bfloat16[]',
          list: 'seq(float[2])',
          maybe: 'optional(seq(int32[]))',
          table: 'map(int64, float[4])',
          sparse: 'sparse_tensor(double[9])',
        },
      },
    });
    expect(model.graph.inputs.map((input) => input.type)).toEqual([
      { kind: 'tensor', elementType: 'float32', shape: ['N', 3, undefined, 224] },
      { kind: 'tensor', elementType: 'int64', shape: [] },
      { kind: 'tensor', elementType: 'bfloat16', shape: undefined },
      { kind: 'sequence', element: { kind: 'tensor', elementType: 'float32', shape: [2] } },
      {
        kind: 'optional',
        element: {
          kind: 'sequence',
          element: { kind: 'tensor', elementType: 'int32', shape: undefined },
        },
      },
      { kind: 'map', key: 'int64', value: { kind: 'tensor', elementType: 'float32', shape: [4] } },
      { kind: 'sparse-tensor', elementType: 'float64', shape: [9] },
    ]);
  });

  test('has attributes of every kind', () => {
    const { model } = read({
      graph: {
        nodes: [
          {
            type: 'Test',
            attributes: {
              int: -1,
              float: { float: 0.5 },
              string: 'same_upper',
              ints: [1, -2],
              floats: { floats: [0.25, -1] },
              strings: ['a', 'b'],
              tensor: { tensor: { type: 'int64[2]', elements: [3, 4] } },
              graph: { graph: { name: 'body', nodes: [{ type: 'Relu' }] } },
              graphs: { graphs: [{ name: 'one' }, { name: 'two' }] },
              reference: { reference: 'alpha', type: 1 },
              type: { typeProto: 'seq(float[5])' },
            },
          },
        ],
      },
    });
    const attributes = model.graph.nodes[0]?.attributes ?? new Map();
    expect(attributes.get('int')).toEqual({ kind: 'int', value: -1 });
    expect(attributes.get('float')).toEqual({ kind: 'float', value: 0.5 });
    expect(attributes.get('string')).toEqual({ kind: 'string', value: 'same_upper' });
    expect(attributes.get('ints')).toEqual({ kind: 'ints', value: [1, -2] });
    expect(attributes.get('floats')).toEqual({ kind: 'floats', value: [0.25, -1] });
    expect(attributes.get('strings')).toEqual({ kind: 'strings', value: ['a', 'b'] });
    expect(attributes.get('tensor')).toMatchObject({ kind: 'tensor', value: { elements: [3, 4] } });
    expect(attributes.get('graph')).toMatchObject({ value: { name: 'body', nodes: [{ type: 'Relu' }] } });
    expect(attributes.get('graphs')).toMatchObject({ value: [{ name: 'one' }, { name: 'two' }] });
    expect(attributes.get('reference')).toEqual({ kind: 'reference', value: 'alpha', type: 'float' });
    expect(attributes.get('type')).toEqual({
      kind: 'type_proto',
      value: { kind: 'sequence', element: { kind: 'tensor', elementType: 'float32', shape: [5] } },
    });
  });

  test('of IR version 1 has attributes without a type', () => {
    const node = { type: 'Test', extra: bytesField(5, joinBytes([stringField(1, 'k'), varintField(3, 7)])) };
    const { model } = read({ irVersion: 1, graph: { nodes: [node] } });
    expect(model.graph.nodes[0]?.attributes.get('k')).toEqual({ kind: 'int', value: 7 });
  });

  test('takes packed lists where proto2 writes unpacked ones', () => {
    const attribute = joinBytes([
      stringField(1, 'k'),
      bytesField(8, Uint8Array.of(1, 2, 3)),
      varintField(20, 7),
    ]);
    const { model } = read({ graph: { nodes: [{ type: 'Test', extra: bytesField(5, attribute) }] } });
    expect(model.graph.nodes[0]?.attributes.get('k')).toEqual({ kind: 'ints', value: [1, 2, 3] });
  });

  test('has functions with defaults and value types', () => {
    const { model } = read({
      graph: {},
      functions: [
        {
          name: 'gelu',
          domain: 'local',
          overload: 'tanh',
          inputs: ['x'],
          outputs: ['y'],
          attributes: ['alpha'],
          defaults: { beta: 2 },
          operatorSets: 18,
          nodes: [{ type: 'Tanh', inputs: ['x'], outputs: ['y'] }],
          valueInfos: { x: 'float[N]' },
        },
      ],
    });
    expect(model.functions).toMatchObject([
      {
        name: 'gelu',
        domain: 'local',
        overload: 'tanh',
        inputs: ['x'],
        outputs: ['y'],
        attributes: ['alpha'],
        defaults: new Map([['beta', { kind: 'int', value: 2 }]]),
        operatorSets: [{ domain: '', version: 18 }],
        nodes: [{ type: 'Tanh' }],
        valueInfos: [{ name: 'x' }],
      },
    ]);
  });

  test('has sparse initializers by their dense shape', () => {
    const { model } = read({
      graph: {
        sparseInitializers: [
          {
            values: { name: 's', type: 'float[2]', raw: new Uint8Array(8) },
            indices: { type: 'int64[2]', raw: new Uint8Array(16) },
            dimensions: [10, 20],
          },
        ],
      },
    });
    expect(model.graph.sparseInitializers).toEqual([
      { name: 's', elementType: 'float32', dimensions: [10, 20], storedBytes: 24 },
    ]);
  });

  test('written in parts is put together', () => {
    const part = bytesField(7, bytesField(1, stringField(4, 'Relu')));
    const { model } = read({
      graph: { name: 'main', nodes: [{ type: 'Conv' }] },
      extra: joinBytes([part, part]),
    });
    expect(model.graph.name).toBe('main');
    expect(model.graph.nodes.map((node) => node.type)).toEqual(['Conv', 'Relu', 'Relu']);
  });

  test('skips training information and device configurations without a word', () => {
    const { codes } = read({
      ...noName,
      extra: joinBytes([bytesField(20, new Uint8Array(0)), bytesField(26, Uint8Array.of(0x0a, 0))]),
    });
    expect(codes).toEqual([]);
  });
});

describe('small tensors keep their elements', () => {
  const limit = 2n ** 63n - 1n;
  const little = (...bytes: number[]): Uint8Array => Uint8Array.from(bytes);
  const table: [string, TensorDescription, number[] | undefined][] = [
    ['packed int64_data', { type: 'int64[3]', elements: [1, -2, 300] }, [1, -2, 300]],
    ['unpacked int64_data', { type: 'int64[3]', elements: [1, -2, 300], unpacked: true }, [1, -2, 300]],
    ['INT64_MAX saturates', { type: 'int64[1]', elements: [limit] }, [Number.MAX_SAFE_INTEGER]],
    ['INT64_MIN saturates', { type: 'int64[1]', elements: [-limit - 1n] }, [-Number.MAX_SAFE_INTEGER]],
    ['2^53 − 1 is exact', { type: 'int64[1]', elements: [2n ** 53n - 1n] }, [2 ** 53 - 1]],
    ['−2^52 is exact', { type: 'int64[1]', elements: [-(2n ** 52n)] }, [-(2 ** 52)]],
    ['raw int64', { type: 'int64', raw: little(0xfe, 255, 255, 255, 255, 255, 255, 255) }, [-2]],
    [
      'raw int64 maximum',
      { type: 'int64', raw: little(255, 255, 255, 255, 255, 255, 255, 127) },
      [2 ** 53 - 1],
    ],
    ['int32_data', { type: 'int32[2]', elements: [-5, 7] }, [-5, 7]],
    ['raw int32', { type: 'int32', raw: little(0, 1, 0, 0) }, [256]],
    ['bool in int32_data', { type: 'bool[2]', elements: [1, 0] }, [1, 0]],
    ['raw uint8', { type: 'uint8[2]', raw: little(200, 1) }, [200, 1]],
    ['raw int16', { type: 'int16', raw: little(0xff, 0xff) }, [-1]],
    ['uint64_data', { type: 'uint64', elements: [2n ** 64n - 1n] }, [Number.MAX_SAFE_INTEGER]],
    ['packed int4', { type: 'int4[3]', raw: little(0x8f, 0x07) }, [-1, -8, 7]],
    ['packed uint2', { type: 'uint2[4]', raw: little(0b11100100) }, [0, 1, 2, 3]],
    ['float_data', { type: 'float[2]', elements: [0.5, -1] }, [0.5, -1]],
    ['unpacked float_data', { type: 'float[2]', elements: [0.5, -1], unpacked: true }, [0.5, -1]],
    ['raw float', { type: 'float', raw: little(0, 0, 0x80, 0x3f) }, [1]],
    ['double_data', { type: 'double[1]', elements: [0.1] }, [0.1]],
    ['float16 bits in int32_data', { type: 'float16[2]', elements: [0x3c00, 0xc000] }, [1, -2]],
    ['raw bfloat16', { type: 'bfloat16', raw: little(0x80, 0x3f) }, [1]],
    ['an empty tensor', { type: 'float[0,4]' }, []],
    ['1,024 integers', { type: 'int8[1024]', raw: new Uint8Array(1024) }, Array(1024).fill(0)],
    ['1,025 integers are skipped', { type: 'int8[1025]', raw: new Uint8Array(1025) }, undefined],
    ['64 floats', { type: 'float[64]', raw: new Uint8Array(256) }, Array(64).fill(0)],
    ['65 floats are skipped', { type: 'float[65]', raw: new Uint8Array(260) }, undefined],
    ['no payload', { type: 'int64[2]' }, undefined],
    ['fewer elements than dimensions', { type: 'int64[3]', elements: [1] }, undefined],
    ['more bytes than dimensions', { type: 'int8[2]', raw: little(1, 2, 3) }, undefined],
    ['a segment', { type: 'int8[1]', raw: little(1), extra: bytesField(3, new Uint8Array(0)) }, undefined],
    ['strings', { type: 'string[1]', strings: ['x'] }, undefined],
  ];
  test.each(table)('%s', (_, tensor, elements) => {
    expect(readTensor(tensor).literal.elements).toEqual(elements);
  });

  test('whatever the order of their fields', () => {
    const tensor = joinBytes([
      bytesField(9, Uint8Array.of(5, 6)),
      stringField(8, 't'),
      varintField(2, 3),
      varintField(1, 2),
    ]);
    const { model } = read({ graph: { extra: bytesField(5, tensor) } });
    expect(model.graph.initializers).toEqual([
      { name: 't', elementType: 'int8', dimensions: [2], elements: [5, 6], storedBytes: 2 },
    ]);
  });
});

describe('external data', () => {
  test('is located, not opened', () => {
    const { literal, codes } = readTensor({
      type: 'float[10]',
      external: { location: 'weights/w.bin', offset: '4096', length: '40' },
    });
    expect(literal.external).toEqual({ path: 'weights/w.bin', offset: 4096, length: 40 });
    expect(literal.elements).toBeUndefined();
    expect(codes).toEqual([]);
  });

  test.each([
    ['w.bin', false],
    ['a/../w.bin', false],
    ['./w.bin', false],
    ['a..b/w', false],
    ['/etc/passwd', true],
    ['../w.bin', true],
    ['a/../../w.bin', true],
    ['..\\w.bin', true],
    ['C:\\w.bin', true],
    ['\\\\host\\share', true],
    ['file:///etc/passwd', true],
  ])('%s leaves the folder: %s', (path, leaves) => {
    expect(leavesFolder(path)).toBe(leaves);
    const { codes } = readTensor({ type: 'float[10]', external: { location: path } });
    expect(codes).toEqual(leaves ? ['onnx/external-data-outside'] : []);
  });
});

describe('what this version does not know', () => {
  test('a newer IR version is one piece of information', () => {
    const { codes, messages } = read({ irVersion: 99, graph: {} });
    expect(codes).toEqual(['onnx/newer-ir']);
    expect(messages[0]).toContain('IR version 99 is newer than 14');
  });

  test('a new field is reported once per message and field, with its place', () => {
    const extra = varintField(77, 1);
    const { codes, messages } = read({
      graph: {
        nodes: [
          { type: 'A', extra },
          { type: 'B', extra },
        ],
        extra,
      },
    });
    expect(codes).toEqual(['onnx/unknown-field', 'onnx/unknown-field']);
    expect(messages[0]).toMatch(/^Field 77 of NodeProto at byte \d+ is unknown/);
    expect(messages[1]).toMatch(/^Field 77 of GraphProto at byte \d+ is unknown/);
  });

  test('a thousand new fields are a hundred issues', () => {
    const extra = joinBytes(Array.from({ length: 1000 }, (_, index) => varintField(1000 + index, 1)));
    expect(read({ graph: {}, extra }).codes).toHaveLength(100);
  });

  test('a known field in another encoding is reported, not misread', () => {
    const { model, codes } = read({ graph: { nodes: [{ type: 'A', extra: float32Field(3, 1) }] } });
    expect(codes).toEqual(['onnx/unknown-field']);
    expect(model.graph.nodes[0]?.name).toBe('');
  });

  test('a new element type is reported once', () => {
    const tensor = (name: string) => bytesField(5, joinBytes([stringField(8, name), varintField(2, 200)]));
    const { model, codes } = read({ graph: { extra: joinBytes([tensor('a'), tensor('b')]) } });
    expect(codes).toEqual(['onnx/unknown-element-type']);
    expect(model.graph.initializers.map((literal) => literal.elementType)).toEqual([
      'undefined',
      'undefined',
    ]);
  });

  test.each([
    [[varintField(2, 1), bytesField(9, new Uint8Array(12))], /holds 12 bytes, but float32\[2, 2\] takes 16/],
    [
      [varintField(2, 1), bytesField(5, new Uint8Array(4))],
      /in a field for other element types than float32/,
    ],
    [[varintField(2, 1), bytesField(4, new Uint8Array(16))], undefined],
    [[varintField(2, 7), bytesField(7, new Uint8Array(4))], undefined],
    [[varintField(2, 22), bytesField(9, new Uint8Array(2))], undefined],
    [[varintField(2, 1), bytesField(9, new Uint8Array(0))], undefined],
    [[varintField(2, 1)], undefined],
  ])('data that does not fit the type of its tensor is said (%#)', (fields, message) => {
    const tensor = joinBytes([stringField(8, 'w'), varintField(1, 2), varintField(1, 2), ...fields]);
    const { messages } = read({ graph: { extra: bytesField(5, tensor) } });
    expect(messages.length).toBe(message === undefined ? 0 : 1);
    if (message !== undefined) expect(messages[0]).toMatch(message);
  });

  test('a text attribute as large as a file is described, not held', () => {
    const { model } = read({
      graph: { nodes: [{ type: 'EPContext', attributes: { blob: 'x'.repeat(100_000) } }] },
    });
    expect(model.graph.nodes[0]?.attributes.get('blob')).toEqual({
      kind: 'other',
      value: 'string of 100000 bytes',
    });
  });
});

describe('payloads are jumped over', () => {
  /** A file of `size` bytes of which only the head and the tail exist. */
  function sparseSource(head: Uint8Array, gap: number, tail: Uint8Array) {
    let bytesRead = 0;
    const size = head.length + gap + tail.length;
    const read = (offset: number, length: number): Uint8Array => {
      const end = Math.min(offset + length, size);
      const bytes = new Uint8Array(Math.max(0, end - offset));
      bytesRead += bytes.length;
      for (const [part, start] of [
        [head, 0],
        [tail, head.length + gap],
      ] as const) {
        const from = Math.max(offset, start);
        const to = Math.min(end, start + part.length);
        if (from < to) bytes.set(part.subarray(from - start, to - start), from - offset);
      }
      return bytes;
    };
    return { source: { size, read }, bytesRead: () => bytesRead };
  }

  test.each([
    ['raw_data', 9, 2 ** 30, 1],
    ['float_data', 4, 2 ** 30, 1],
    ['int64_data', 7, 100 * 2 ** 20, 7],
  ])('a file with a huge %s costs a few kilobytes', (_, field, gap, elementType) => {
    const elements = gap / 4;
    const tensorHead = joinBytes([
      varintField(1, elements),
      varintField(2, elementType),
      lengthPrefix(field, gap),
    ]);
    const graphHead = joinBytes([lengthPrefix(5, tensorHead.length + gap), tensorHead]);
    const graphTail = bytesField(1, stringField(4, 'Relu'));
    const head = joinBytes([
      varintField(1, 10),
      lengthPrefix(7, graphHead.length + gap + graphTail.length),
      graphHead,
    ]);
    const { source, bytesRead } = sparseSource(
      head,
      gap,
      joinBytes([graphTail, bytesField(8, varintField(2, 21))]),
    );
    const { model, issues } = readOnnx(source);
    expect(issues).toEqual([]);
    expect(model?.graph.initializers).toMatchObject([{ dimensions: [elements], storedBytes: gap }]);
    expect(model?.graph.nodes.map((node) => node.type)).toEqual(['Relu']);
    expect(bytesRead()).toBeLessThan(64 * 1024);
  });

  test('a source that reuses its buffer gives the same tree', () => {
    const bytes = encodeModel({
      metadata: { key: 'x'.repeat(100) },
      graph: {
        nodes: Array.from({ length: 500 }, (_, index) => ({ type: 'Relu', name: `node ${index}` })),
        initializers: [
          { name: 'w', type: 'float[100,100]', raw: new Uint8Array(40_000) },
          { name: 's', type: 'int64[2]', elements: [7, 8] },
        ],
      },
    });
    const shared = new Uint8Array(1 << 16);
    const reusing = {
      size: bytes.length,
      read: (offset: number, length: number) => {
        const part = bytes.subarray(offset, offset + length);
        shared.fill(0xff);
        shared.set(part);
        return shared.subarray(0, part.length);
      },
    };
    expect(readOnnx(reusing)).toEqual(readOnnx(byteSourceOfBuffer(bytes)));
  });

  test('between many payloads too', () => {
    const tensors = Array.from({ length: 100 }, (_, index) => ({
      name: `w${index}`,
      type: 'float[1,65536]',
      raw: new Uint8Array(4 * 65_536),
    }));
    const bytes = encodeModel({ graph: { initializers: tensors } });
    let bytesRead = 0;
    const { model } = readOnnx({
      size: bytes.length,
      read: (offset, length) => {
        const part = bytes.subarray(offset, offset + length);
        bytesRead += part.length;
        return part;
      },
    });
    expect(model?.graph.initializers).toHaveLength(100);
    expect(bytes.length).toBeGreaterThan(25e6);
    expect(bytesRead).toBeLessThan(1e6);
  });

  function lengthPrefix(field: number, length: number): Uint8Array {
    const out: number[] = [];
    for (let rest = length; ; rest = Math.floor(rest / 128)) {
      if (rest < 128) {
        out.push(rest);
        return Uint8Array.from([field * 8 + 2, ...out]);
      }
      out.push((rest % 128) | 0x80);
    }
  }
});
