/** Operators that ONNX Runtime's optimizer replaced by others of the standard, as they were before. */

import type { OnnxGraph, OnnxNode } from '../../formats/onnx/syntax.ts';
import type { TensorLiteral } from '../../model/attribute.ts';
import { integerOf } from './nodeWriter.ts';

interface Links {
  readonly producers: ReadonlyMap<string, OnnxNode>;
  readonly readers: ReadonlyMap<string, readonly OnnxNode[]>;
}

function linksOf({ nodes }: OnnxGraph): Links {
  const producers = new Map(nodes.flatMap((node) => node.outputs.map((name) => [name, node] as const)));
  const readers = new Map<string, OnnxNode[]>();
  for (const node of nodes) {
    for (const name of new Set(node.inputs)) readers.set(name, [...(readers.get(name) ?? []), node]);
  }
  return { producers, readers };
}

/**
 * A MatMul and an Add for each Gemm that was made of them, with reshapes to two axes and back around it. The fusion names
 * it (onnxruntime/core/optimizer/matmul_add_fusion.cc).
 */
export function withMatMuls(graph: OnnxGraph, rankOf: (name: string) => number | undefined): OnnxGraph {
  const gemms = graph.nodes.filter(
    ({ type, name, domain }) => type === 'Gemm' && domain === '' && name.endsWith('/MatMulAddFusion'),
  );
  if (gemms.length === 0) return graph;
  const { producers, readers } = linksOf(graph);
  const instead = new Map<OnnxNode, readonly OnnxNode[]>();
  for (const gemm of gemms) {
    const [input = '', weight = '', bias = ''] = gemm.inputs;
    const [output = ''] = gemm.outputs;
    const before = producers.get(input);
    const behind = readers.get(output) ?? [];
    const [back] = behind;
    const isReshaped =
      before?.name.startsWith('gemm_input_reshape') === true &&
      behind.length === 1 &&
      back?.name.startsWith('gemm_output_reshape') === true;
    const turned = ['transA', 'transB'].some((name) => integerOf(gemm.attributes, name, 0) !== 0);
    if (!isReshaped || back === undefined || before === undefined || turned || bias === '') continue;
    const name = gemm.name.slice(0, -'/MatMulAddFusion'.length);
    const plain = { ...gemm, attributes: new Map() };
    const rank = rankOf(before.inputs[0] ?? '');
    // A reshape of the model may be fused into the one that goes back.
    const isBack = rank !== undefined && rank === rankOf(back.outputs[0] ?? '');
    const sum = `${output} with bias`;
    instead.set(back, isBack ? [] : [{ ...back, inputs: [sum, ...back.inputs.slice(1)] }]);
    instead.set(gemm, [
      {
        ...plain,
        name,
        type: 'MatMul',
        inputs: [before.inputs[0] ?? '', weight],
        outputs: [output],
      },
      {
        ...plain,
        name: `${name}_Add`,
        type: 'Add',
        inputs: [output, bias],
        outputs: isBack ? back.outputs : [sum],
      },
    ]);
    if ((readers.get(input) ?? []).length === 1) instead.set(before, []);
  }
  return { ...graph, nodes: graph.nodes.flatMap((node) => instead.get(node) ?? [node]) };
}

/**
 * A Gather for each slice of a Split that was made of them (onnxruntime/core/optimizer/gather_fusion.cc,
 * `GatherSliceToSplitFusion`), where a Squeeze takes away the axis of each part.
 */
export function withSelects(graph: OnnxGraph): OnnxGraph {
  const splits = graph.nodes.filter(
    ({ type, name }) => type === 'Split' && name.endsWith('/GatherSliceToSplitFusion'),
  );
  if (splits.length === 0) return graph;
  const { readers } = linksOf(graph);
  const outputs = new Set(graph.outputs.map(({ name }) => name));
  const instead = new Map<OnnxNode, readonly OnnxNode[]>();
  const added: TensorLiteral[] = [];
  for (const split of splits) {
    const squeezes = split.outputs.map((name) => {
      const reading = readers.get(name) ?? [];
      const [only] = reading;
      return reading.length === 1 && only?.type === 'Squeeze' && !outputs.has(name) ? only : undefined;
    });
    const known = squeezes.flatMap((node) => node ?? []);
    if (known.length < squeezes.length) continue;
    instead.set(split, []);
    for (const [index, squeeze] of known.entries()) {
      const position = `${squeeze.name} index`;
      added.push({ name: position, elementType: 'int64', dimensions: [], elements: [index], storedBytes: 8 });
      instead.set(squeeze, [
        {
          ...squeeze,
          type: 'Gather',
          inputs: [split.inputs[0] ?? '', position],
          attributes: new Map([['axis', { kind: 'int', value: integerOf(split.attributes, 'axis', 0) }]]),
        },
      ]);
    }
  }
  return {
    ...graph,
    nodes: graph.nodes.flatMap((node) => instead.get(node) ?? [node]),
    initializers: [...graph.initializers, ...added],
  };
}
