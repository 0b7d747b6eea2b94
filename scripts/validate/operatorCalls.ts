/** Operators that were measured by themselves, each as a layer spec of one layer `op`. */

import { type MeasuredRow, numberIn } from '../measured/readMeasured.ts';
import type { OperatorCall } from './layerSets.ts';

/** `undefined` for what makes or converts tensors, and where a shape does not say what was computed. */
export function operatorCall(row: MeasuredRow): OperatorCall | undefined {
  const operator = row.operator ?? '';
  const shapes = (row.inputs ?? '').split(';').map((shape) => shape.split('x').map(Number));
  const output = (row.output ?? '').split('x').map(Number);
  const call = callOf(operator, shapes, output);
  if (call === undefined) return undefined;
  return {
    spec: call,
    request: {
      cluster: row.gpu ?? '',
      precision: 'fp32',
      optimizer: 'none',
      mode: 'training',
      framework: eager,
    },
  };
}

const eager = { name: 'pytorch-ddp', options: {} };

type Shape = readonly number[];

function callOf(operator: string, shapes: readonly Shape[], output: Shape): string | undefined {
  const [x, y] = shapes;
  if (x === undefined) return undefined;
  const width = output.at(-1) ?? 0;
  const same = (shape: Shape | undefined): boolean => shape?.join() === output.join();
  if (linears.has(operator)) return learned([x], `Linear(${x.at(-1)}, ${width})`);
  if (operator === 'addmm') {
    const [, input, weight] = shapes;
    return input && weight && learned([input], `Linear(${weight[0]}, ${weight[1]})`);
  }
  if (norms.has(operator)) return learned([x], `LayerNorm(${x.at(-1)})`);
  const table = tables[operator];
  if (table !== undefined || operator === 'embedding') {
    const entries = operator === 'embedding' ? (y?.[0] ?? 0) : (table ?? 0);
    return `inputs:\n  tokens: int64[${x.join(', ')}]\nlayers:\n  - op: Embedding(${entries}, ${width})\n`;
  }
  if (operator === 'matmul' || operator === 'bmm') return y && learned([x, y], 'matmul(a, b)');
  if (dropouts.has(operator)) return learned([x], 'Dropout(0.1)');
  if (operator === 'softmax') return learned([x], 'Softmax(dim=-1)');
  if (operator === 'gelu') return learned([x], 'GELU()');
  if (operator === 'tanh') return learned([x], 'Tanh()');
  if (operator === 'activation_fn') return learned([x], 'ReLU()');
  if (operator === 'pow') return learned([x], 'pow(a, 3)');
  const arithmetic = arithmetics[operator];
  if (arithmetic === undefined || !same(x)) return undefined;
  // The second operand is a number where no second shape is told.
  if (y === undefined || y.join() === '1') return learned([x], `${arithmetic}(a, 2)`);
  return same(y) ? learned([x, y], `${arithmetic}(a, b)`) : undefined;
}

const linears: ReadonlySet<string> = new Set(
  'dense query key value decoder seq_relationship lm_head q_proj k_proj v_proj out_proj fc1 fc2'.split(' '),
);
const norms: ReadonlySet<string> = new Set(
  'LayerNorm ln_1 ln_2 ln_f final_layer_norm self_attn_layer_norm'.split(' '),
);
const dropouts: ReadonlySet<string> = new Set('dropout drop attn_dropout resid_dropout'.split(' '));

/** Entries of the tables of the models measured (their configurations on Hugging Face). */
const tables: Readonly<Record<string, number>> = {
  word_embeddings: 30522,
  token_type_embeddings: 2,
  position_embeddings: 512,
  wte: 50257,
  wpe: 1024,
  embed_tokens: 50272,
};

const arithmetics: Readonly<Record<string, string>> = { add: 'add', sub: 'sub', mul: 'mul', truediv: 'div' };

/** The layer over operands that depend on data and on trained tensors, as inside a network. */
function learned(shapes: readonly Shape[], call: string): string {
  const named = shapes.map((shape, index) => ({ name: index === 0 ? 'a' : 'b', sizes: shape.join(', ') }));
  const from = call.includes('(a') ? '' : ' from a';
  return [
    'inputs:',
    ...named.map(({ name, sizes }) => `  ${name}0: float32[${sizes}]`),
    'layers:',
    ...named.map(
      ({ name, sizes }) => `  - ${name}1: Parameter(${sizes})\n  - ${name}: add(${name}0, ${name}1)`,
    ),
    `  - op: ${call}${from}`,
    '',
  ].join('\n');
}

/** A layer of cuDNN; its input has a gradient, as in a stack of layers. */
export function recurrentCall(row: MeasuredRow): OperatorCall | undefined {
  const [hidden, batch, steps] = [numberIn(row, 'hidden'), numberIn(row, 'batch'), numberIn(row, 'steps')];
  const cell = row.cell === 'Vanilla' ? 'RNN' : row.cell;
  return {
    spec: learned([[steps, batch, 1]], `${cell}(1, ${hidden})`),
    request: {
      cluster: row.gpu ?? '',
      precision: row.type === 'fp16' ? 'fp16' : 'fp32',
      optimizer: 'none',
      mode: 'training',
      framework: eager,
    },
  };
}
