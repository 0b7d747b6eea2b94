/** Lengths, numbers and counts of the wire format. */

import {
  bytesField,
  encodeModel,
  encodeNode,
  joinBytes,
  stringField,
  tag,
  varint,
  varintField,
} from '../../support/onnxBytes.ts';
import { bytes, type HostileInput, megabyteOf, withGraph } from './rows.ts';

export const wireRows: readonly HostileInput[] = [
  bytes('a graph longer than the file', () => joinBytes([varintField(1, 10), tag(7, 2), varint(1000)])),
  bytes('a graph of 2^31 bytes', () => joinBytes([varintField(1, 10), tag(7, 2), varint(2n ** 31n)])),
  bytes('a graph of 2^63 bytes', () => joinBytes([varintField(1, 10), tag(7, 2), varint(2n ** 63n)])),
  bytes('a graph of 2^64 - 1 bytes', () =>
    joinBytes([varintField(1, 10), tag(7, 2), varint(2n ** 64n - 1n)]),
  ),
  bytes('a tensor payload of 2^63 - 1 bytes', () =>
    withGraph(
      bytesField(5, joinBytes([varintField(1, 2), varintField(2, 7), tag(9, 2), varint(2n ** 63n - 1n)])),
    ),
  ),
  bytes('a varint without end', () =>
    joinBytes([varintField(1, 10), Uint8Array.of(56), new Uint8Array(1000).fill(0xff)]),
  ),
  bytes('a megabyte of field tags', () => joinBytes([varintField(1, 10), megabyteOf(0x08)])),
  bytes('empty nodes', () => withGraph(megabyteOf(0x0a, 0x00))),
  bytes('a megabyte of empty initializers', () => withGraph(megabyteOf(0x2a, 0x00))),
  bytes('a megabyte of empty functions', () =>
    joinBytes([
      encodeModel({ graph: { nodes: [{ type: 'Relu', inputs: ['x'], outputs: ['y'] }] } }),
      megabyteOf(0xca, 0x01, 0x00),
    ]),
  ),
  bytes('a megabyte of inputs without a type', () => withGraph(megabyteOf(0x5a, 0x00))),
  bytes('a megabyte of one packed integer attribute', () =>
    withGraph(
      bytesField(
        1,
        joinBytes([
          stringField(1, 'x'),
          stringField(2, 'y'),
          stringField(4, 'Transpose'),
          bytesField(
            5,
            joinBytes([stringField(1, 'perm'), bytesField(8, megabyteOf(0)), varintField(20, 7)]),
          ),
        ]),
      ),
    ),
  ),
  bytes('a tensor of a megabyte of dimensions', () =>
    withGraph(
      joinBytes([
        bytesField(5, joinBytes([megabyteOf(0x08, 0x02), varintField(2, 1), stringField(8, 'w')])),
        bytesField(1, encodeNode({ type: 'Relu', inputs: ['w'], outputs: ['y'] })),
        bytesField(1, encodeNode({ type: 'Add', inputs: ['y', 'w'], outputs: ['z'] })),
        bytesField(1, encodeNode({ type: 'Transpose', inputs: ['z'], outputs: ['t'] })),
        bytesField(1, encodeNode({ type: 'MatMul', inputs: ['t', 'z'], outputs: ['u'] })),
      ]),
    ),
  ),
];
