/** A decoder in the style of Llama as an exporter writes it, of any depth: the large graph of the benchmarks. */

import { encodeModel, type NodeDescription, type TensorDescription } from '../support/onnxBytes.ts';

const operatorsPerBlock = 36;

/** Those of TinyLlama. */
const { width, hidden, vocabulary } = { width: 2048, hidden: 5632, vocabulary: 32000 };

/**
 * The bytes of a model with about `operators` operators, symbolic batch and sequence. Its weights are said to lie in
 * another file.
 */
export function llamaGraph(operators: number): Uint8Array {
  const weight = (name: string, shape: readonly number[]): TensorDescription => ({
    name,
    type: `float[${shape.join(',')}]`,
    external: { location: 'weights.bin' },
  });
  const blocks = Math.max(1, Math.round(operators / operatorsPerBlock));
  const nodes: NodeDescription[] = [
    node('/embed/Gather', 'Gather', ['embed.weight', 'tokens'], 'x0', { axis: 0 }),
  ];
  const initializers: TensorDescription[] = [weight('embed.weight', [vocabulary, width])];
  const constants: TensorDescription[] = [
    { name: 'two', type: 'float', elements: [2] },
    { name: 'epsilon', type: 'float', elements: [1e-6] },
    { name: 'scale', type: 'float', elements: [0.125] },
    { name: 'heads', type: 'int64[4]', elements: [0, 0, 32, width / 32] },
    { name: 'merged', type: 'int64[3]', elements: [0, 0, width] },
  ];
  for (let block = 0; block < blocks; block += 1) {
    const path = `/layers.${block}`;
    const name = (value: string): string => `b${block}.${value}`;
    const add = (
      local: string,
      type: string,
      inputs: string[],
      output: string,
      attributes?: NodeDescription['attributes'],
    ) => nodes.push(node(`${path}${local}`, type, inputs, name(output), attributes));
    const addWeight = (local: string, shape: number[]): string => {
      const full = `layers.${block}.${local}`;
      initializers.push(weight(full, shape));
      return full;
    };
    const normalize = (local: string, input: string, output: string): void => {
      const scale = addWeight(`${local}.weight`, [width]);
      add(`/${local}/Pow`, 'Pow', [input, 'two'], `${output}.squared`);
      add(`/${local}/ReduceMean`, 'ReduceMean', [name(`${output}.squared`)], `${output}.mean`, {
        axes: [-1],
        keepdims: 1,
      });
      add(`/${local}/Add`, 'Add', [name(`${output}.mean`), 'epsilon'], `${output}.shifted`);
      add(`/${local}/Sqrt`, 'Sqrt', [name(`${output}.shifted`)], `${output}.root`);
      add(`/${local}/Div`, 'Div', [input, name(`${output}.root`)], `${output}.normal`);
      add(`/${local}/Mul`, 'Mul', [name(`${output}.normal`), scale], output);
    };
    const residual = `x${block}`;
    normalize('input_layernorm', residual, 'n1');
    for (const projection of ['q', 'k', 'v']) {
      const matrix = addWeight(`self_attn.${projection}_proj.weight`, [width, width]);
      add(`/self_attn/${projection}_proj/MatMul`, 'MatMul', [name('n1'), matrix], projection);
      add(`/self_attn/${projection}/Reshape`, 'Reshape', [name(projection), 'heads'], `${projection}4`);
      add(`/self_attn/${projection}/Transpose`, 'Transpose', [name(`${projection}4`)], `${projection}t`, {
        perm: projection === 'k' ? [0, 2, 3, 1] : [0, 2, 1, 3],
      });
    }
    add('/self_attn/MatMul', 'MatMul', [name('qt'), name('kt')], 'scores');
    add('/self_attn/Mul', 'Mul', [name('scores'), 'scale'], 'scaled');
    add('/self_attn/Softmax', 'Softmax', [name('scaled')], 'probabilities', { axis: -1 });
    add('/self_attn/MatMul_1', 'MatMul', [name('probabilities'), name('vt')], 'context');
    add('/self_attn/Transpose', 'Transpose', [name('context')], 'contextT', { perm: [0, 2, 1, 3] });
    add('/self_attn/Reshape', 'Reshape', [name('contextT'), 'merged'], 'joined');
    add(
      '/self_attn/o_proj/MatMul',
      'MatMul',
      [name('joined'), addWeight('self_attn.o_proj.weight', [width, width])],
      'attended',
    );
    add('/Add', 'Add', [residual, name('attended')], 'r1');
    normalize('post_attention_layernorm', name('r1'), 'n2');
    add(
      '/mlp/gate_proj/MatMul',
      'MatMul',
      [name('n2'), addWeight('mlp.gate_proj.weight', [width, hidden])],
      'gate',
    );
    add(
      '/mlp/up_proj/MatMul',
      'MatMul',
      [name('n2'), addWeight('mlp.up_proj.weight', [width, hidden])],
      'up',
    );
    add('/mlp/act_fn/Sigmoid', 'Sigmoid', [name('gate')], 'sigmoid');
    add('/mlp/act_fn/Mul', 'Mul', [name('gate'), name('sigmoid')], 'silu');
    add('/mlp/Mul', 'Mul', [name('silu'), name('up')], 'product');
    add(
      '/mlp/down_proj/MatMul',
      'MatMul',
      [name('product'), addWeight('mlp.down_proj.weight', [hidden, width])],
      'down',
    );
    nodes.push(node(`${path}/Add_1`, 'Add', [name('r1'), name('down')], `x${block + 1}`));
  }
  nodes.push(node('/lm_head/MatMul', 'MatMul', [`x${blocks}`, 'lm_head.weight'], 'logits'));
  initializers.push(weight('lm_head.weight', [width, vocabulary]), ...constants);
  return encodeModel({
    operatorSets: 17,
    graph: {
      name: `llama-style, ${blocks} blocks`,
      nodes,
      initializers,
      inputs: { tokens: 'int64[batch,sequence]' },
      outputs: { logits: `float[batch,sequence,${vocabulary}]` },
    },
  });
}

function node(
  name: string,
  type: string,
  inputs: readonly string[],
  output: string,
  attributes?: NodeDescription['attributes'],
): NodeDescription {
  return { name, type, inputs, outputs: [output], ...(attributes === undefined ? {} : { attributes }) };
}
