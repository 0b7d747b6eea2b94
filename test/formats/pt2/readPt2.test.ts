import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type ByteSource, byteSourceOfBuffer } from '../../../server/src/formats/byteSource.ts';
import { readPt2 } from '../../../server/src/formats/pt2/readPt2.ts';
import { sniffFormat } from '../../../server/src/formats/sniffFormat.ts';
import { textPart, type ZipPart, zipOf } from '../../support/zipBytes.ts';

const small = new Uint8Array(readFileSync(new URL('small.pt2', import.meta.url)));
const program = (major: number): string =>
  JSON.stringify({
    schema_version: { major, minor: 99 },
    torch_version: '9.9',
    added_later: { as_anything: 1 },
    graph_module: {
      graph: { inputs: [], outputs: [], nodes: [], tensor_values: {}, sym_int_values: {} },
      signature: { input_specs: [], output_specs: [] },
    },
  });
const model = textPart('m/models/model.json', program(8));
const messageOf = (bytes: Uint8Array): string =>
  readPt2(byteSourceOfBuffer(bytes))
    .issues.map(({ code, message }) => `${code}: ${message}`)
    .join('\n');

test('an archive of PyTorch 2.13 is read whole', () => {
  const { program: read, issues } = readPt2(byteSourceOfBuffer(small));
  expect(issues).toEqual([]);
  expect(read?.torchVersion).toMatch(/^2\.13/);
  expect(read?.inputs.map(({ kind, target }) => `${kind} ${target}`)).toEqual([
    ...['parameter conv.weight', 'parameter conv.bias', 'parameter norm.weight', 'parameter norm.bias'],
    ...['parameter fc.weight', 'parameter fc.bias', 'buffer norm.running_mean', 'buffer norm.running_var'],
    ...['buffer norm.num_batches_tracked', 'input x'],
  ]);
  expect(read?.graph.nodes.map(({ target }) => target.replace('torch.ops.aten.', ''))).toEqual([
    ...['sym_size.int', 'conv2d.default', 'add_.Tensor', 'batch_norm.default', 'relu.default', 'mean.dim'],
    ...['dropout.default', 'linear.default', 'view.default'],
  ]);
  const [symbol] = read?.graph.tensors.get('x')?.shape ?? [];
  expect(read?.graph.tensors.get('conv2d')?.shape).toEqual([symbol, 8, 16, 16]);
  expect(read?.ranges.get(String(symbol))).toEqual({ least: 2, greatest: 64 });
  expect(read?.graph.tensors.get('p_fc_bias')?.requiresGrad).toBe(false);
  expect(read?.graph.tensors.get('p_fc_weight')?.requiresGrad).toBe(true);
  const conv = read?.graph.nodes[1];
  expect(conv?.arguments.get('padding')).toEqual({ kind: 'numbers', values: [1, 1] });
  expect(conv?.modules.at(-1)).toEqual({ path: 'conv', className: 'torch.nn.modules.conv.Conv2d' });
  expect(read?.graph.nodes.at(-1)?.arguments.get('size')).toEqual({
    kind: 'sizes',
    values: ['sym_size_int_1', -1],
  });
  expect(read?.outputs).toEqual(['view']);
});

test.each([
  ['the layout since 2.8', zipOf([model])],
  [
    'the layout before',
    zipOf([textPart('version', '8.8'), textPart('serialized_exported_program.json', program(8))]),
  ],
  ['entries of 64 bits', zipOf([{ ...model, zip64: true }], true)],
])('%s is read, with keys of a later minor version', (_, bytes) => {
  expect(messageOf(bytes)).toBe('');
  expect(readPt2(byteSourceOfBuffer(bytes)).program?.torchVersion).toBe('9.9');
});

test('weights are never read', () => {
  const bytes = zipOf([{ path: 'm/data/weights/weight_0', content: new Uint8Array(2 ** 20) }, model]);
  let read = 0;
  const source: ByteSource = {
    size: bytes.length,
    read: (offset, length) => {
      const part = bytes.subarray(offset, Math.min(offset + length, bytes.length));
      read += part.length;
      return part;
    },
  };
  expect(readPt2(source).issues).toEqual([]);
  expect(read).toBeLessThan(2 ** 17);
});

const wrong = (part: Partial<ZipPart>): Uint8Array => zipOf([{ ...model, ...part }]);

test.each([
  [
    'another major',
    zipOf([textPart('m/models/model.json', program(9))]),
    /^pt2\/version: .*version 9, .*only 8/,
  ],
  ['no version', zipOf([textPart('m/models/model.json', '{}')]), /^pt2\/version: .*unknown/],
  [
    'no graph',
    zipOf([textPart('m/models/a.json', '{"schema_version":{"major":8}}')]),
    /^pt2\/archive: .*no graph/,
  ],
  ['no JSON', zipOf([textPart('m/models/model.json', '{"a":')]), /^pt2\/archive: .*not JSON/],
  ['two programs', zipOf([model, { ...model, path: 'm/models/b.json' }]), /^pt2\/several: .*2 programs/],
  [
    'a package of AOTInductor',
    zipOf([textPart('m/data/aotinductor/model/a.cpp', '')]),
    /^pt2\/no-program: .*AOTInductor/,
  ],
  ['a checkpoint', zipOf([textPart('m/data.pkl', '')]), /^pt2\/no-program: .*torch\.export\.save/],
  ['encryption', wrong({ flags: 1 }), /encrypts/],
  ['compression', wrong({ method: 8 }), /compresses/],
  ['other bytes', wrong({ checksum: 1 }), /damaged bytes/],
  ['a path out of it', wrong({ path: '../models/model.json' }), /leads out/],
  ['an absolute path', wrong({ path: '/m/models/model.json' }), /leads out/],
  ['one path twice', zipOf([model, model]), /twice/],
  ['overlapping entries', zipOf([model, { ...model, path: 'm/models/b.json', offset: 0 }]), /overlap/],
  ['more bytes than it has', wrong({ size: 2 ** 31 }), /overlap/],
  ['a size of 2⁶³', wrong({ size: 2 ** 63, zip64: true }), /ends too early/],
  ['no end', zipOf([model]).slice(0, -1), /ends too early/],
  ['nothing but the end', zipOf([]), /no exported program/],
])('an archive with %s is refused with a reason', (_, bytes, message) => {
  expect(messageOf(bytes)).toMatch(message);
});

test('two gigabytes of JSON are refused before they are read', () => {
  const length = 2 ** 31;
  const head = zipOf([{ ...model, content: new Uint8Array() }]);
  const tail = zipOf([{ ...model, content: new Uint8Array(), size: length }]).slice(30 + model.path.length);
  // The table of contents lies behind the entry.
  const at = head.length - tail.length + length;
  new DataView(tail.buffer).setUint32(tail.length - 6, at, true);
  const source: ByteSource = {
    size: at + tail.length,
    read: (offset, count) => {
      if (count > 2 ** 20) throw new Error('read too much');
      const part = new Uint8Array(Math.min(count, at + tail.length - offset));
      if (offset < head.length) part.set(head.subarray(offset, offset + part.length));
      const end = offset + part.length - at;
      if (end > 0) part.set(tail.subarray(Math.max(0, offset - at), end), Math.max(0, at - offset));
      return part;
    },
  };
  expect(readPt2(source).issues.map(({ message }) => message)).toEqual([
    'The archive holds 2147483648 bytes in `m/models/model.json`, more than 67108864: no model needs as many, it is corrupt or malicious',
  ]);
});

test('a damaged archive never throws, and says what is wrong', () => {
  const changes = fc.array(fc.tuple(fc.nat(small.length - 1), fc.nat(255)), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(changes, fc.nat(small.length), (edits, end) => {
      const bytes = small.slice(0, end % 2 === 0 ? small.length : end);
      for (const [at, value] of edits) if (at < bytes.length) bytes[at] = value;
      const { program: read, issues } = readPt2(byteSourceOfBuffer(bytes));
      expect(read !== undefined || issues.length > 0).toBe(true);
    }),
  );
});

test('the content decides the format, not the name', () => {
  expect(sniffFormat(byteSourceOfBuffer(small), 'model.zip').format).toBe('pt2');
  expect(sniffFormat(byteSourceOfBuffer(zipOf([textPart('a', '')])), 'a.pt').format).toBeUndefined();
});
