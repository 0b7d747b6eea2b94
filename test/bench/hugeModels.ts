/**
 * Models of several gigabytes that take no space: their weights are holes in a sparse file.
 *
 * A chain of products, each with a weight of 1 GiB.
 */

import { closeSync, ftruncateSync, openSync, writeFileSync, writeSync } from 'node:fs';
import {
  bytesField,
  encodeGraph,
  encodeModel,
  encodeTensor,
  type GraphDescription,
  joinBytes,
  stringField,
  tag,
  varint,
  varintField,
} from '../support/onnxBytes.ts';

const gibibyte = 2 ** 30;
const width = 2 ** 14;
const weightType = `float[${width},${width}]`;

/** A model file with `weights` weights of 1 GiB inside it: more than protobuf itself can hold from 2 GiB on. */
export function writeLargeModel(file: string, weights: number): void {
  const graph = encodeGraph(chain(weights));
  const openings = Array.from({ length: weights }, (_, index) => {
    const tensor = joinBytes([
      encodeTensor({ name: `weight${index}`, type: weightType }),
      tag(9, 2),
      varint(gibibyte),
    ]);
    return joinBytes([tag(5, 2), varint(tensor.length + gibibyte), tensor]);
  });
  const graphLength = openings.reduce((length, opening) => length + opening.length + gibibyte, graph.length);
  const head = joinBytes([
    varintField(1, 10),
    bytesField(8, joinBytes([stringField(1, ''), varintField(2, 17)])),
    tag(7, 2),
    varint(graphLength),
    graph,
  ]);
  const descriptor = openSync(file, 'w');
  try {
    let position = writeSync(descriptor, head, 0, head.length, 0);
    for (const opening of openings) {
      position += writeSync(descriptor, opening, 0, opening.length, position) + gibibyte;
    }
    ftruncateSync(descriptor, position);
  } finally {
    closeSync(descriptor);
  }
}

/** A model file whose `weights` weights of 1 GiB lie in a file beside it, named `location`. */
export function writeExternalModel(file: string, dataFile: string, location: string, weights: number): void {
  const initializers = Array.from({ length: weights }, (_, index) => ({
    name: `weight${index}`,
    type: weightType,
    external: { location, offset: String(index * gibibyte), length: String(gibibyte) },
  }));
  writeFileSync(file, encodeModel({ operatorSets: 17, graph: { ...chain(weights), initializers } }));
  const descriptor = openSync(dataFile, 'w');
  try {
    ftruncateSync(descriptor, weights * gibibyte);
  } finally {
    closeSync(descriptor);
  }
}

function chain(weights: number): GraphDescription {
  return {
    name: 'chain',
    nodes: Array.from({ length: weights }, (_, index) => ({
      type: 'MatMul',
      name: `/layer${index}/MatMul`,
      inputs: [`x${index}`, `weight${index}`],
      outputs: [`x${index + 1}`],
    })),
    inputs: { x0: `float[batch,${width}]` },
    outputs: { [`x${weights}`]: `float[batch,${width}]` },
  };
}
