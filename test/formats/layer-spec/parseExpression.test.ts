import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseCall } from '../../../server/src/formats/layer-spec/parseCall.ts';
import { parseExpression } from '../../../server/src/formats/layer-spec/parseExpression.ts';
import type { Expression, LayerCall, Reference } from '../../../server/src/formats/layer-spec/syntax.ts';

/** An expression with every grouping shown. */
function print(expression: Expression | undefined): string {
  switch (expression?.kind) {
    case undefined:
      return 'unreadable';
    case 'number':
      return String(expression.value);
    case 'boolean':
      return expression.value ? 'True' : 'False';
    case 'none':
      return 'None';
    case 'string':
      return `'${expression.value}'`;
    case 'name':
      return expression.name;
    case 'member':
      return `${expression.object.text}.${expression.member.text}`;
    case 'negation':
      return `(-${print(expression.operand)})`;
    case 'binary':
      return `(${print(expression.left)} ${expression.operator} ${print(expression.right)})`;
    case 'tuple':
      return `[${expression.items.map(print).join(', ')}]`;
  }
}

const printReference = ({ text, output }: Reference): string =>
  output === undefined ? text : `${text}.${output.text}`;

function printCall(call: LayerCall | undefined): string {
  if (call === undefined) return 'unreadable';
  const given = call.arguments.map(
    ({ keyword, value }) => `${keyword === undefined ? '' : `${keyword.text}=`}${print(value)}`,
  );
  const repetition = call.repetition === undefined ? '' : ` * ${print(call.repetition)}`;
  const sources = call.sources.length === 0 ? '' : ` from ${call.sources.map(printReference).join(', ')}`;
  const marks = call.marks.map(
    ({ name, value }) => ` ${name.text}${value === undefined ? '' : `=${value.text}`}`,
  );
  return `${call.callee.text}(${given.join(', ')})${repetition}${sources}${marks.join('')}`;
}

it.each([
  ['768', '768'],
  ['1_000', '1000'],
  ['1e-5', '0.00001'],
  ['.5', '0.5'],
  ['-3', '-3'],
  ['--3', '3'],
  ['-d', '(-d)'],
  ['4*d', '(4 * d)'],
  ['a + b*c', '(a + (b * c))'],
  ['(a + b)*c', '((a + b) * c)'],
  ['a - b - c', '((a - b) - c)'],
  ['d // heads', '(d // heads)'],
  ['d / 2 % 3', '((d / 2) % 3)'],
  ['2**3**2', '(2 ** (3 ** 2))'],
  ['-2**2', '(-(2 ** 2))'],
  ['True', 'True'],
  ['None', 'None'],
  ["'same'", "'same'"],
  ['"tanh"', "'tanh'"],
  ['(3)', '3'],
  ['(3,)', '[3]'],
  ['(3, 4)', '[3, 4]'],
  ['()', '[]'],
  ['[1, [2, n]]', '[1, [2, n]]'],
])('reads the expression %s', (text, expected) => {
  const { result, issues } = parseExpression(text, 0, text.length);
  expect([print(result), issues]).toEqual([expected, []]);
  expect(result?.span).toEqual({ start: 0, end: text.length });
});

it.each([
  ['GELU()', 'GELU()'],
  ['Linear(d, 4*d)', 'Linear(d, (4 * d))'],
  ['nn.Conv2d(64, kernel_size=3)', 'Conv2d(64, kernel_size=3)'],
  ['torch.nn.functional.relu(x)', 'relu(x)'],
  ['decoder() * 12', 'decoder() * 12'],
  ['conv(64) * 2 from stem', 'conv(64) * 2 from stem'],
  ['add() from a, b', 'add() from a, b'],
  ['concat((a, b), dim=1,)', 'concat([a, b], dim=1)'],
  ['add(lstm.h_n, x)', 'add(lstm.h_n, x)'],
  ['Linear(8) from lstm.output', 'Linear(8) from lstm.output'],
  ['torch.nn.Linear(8)', 'Linear(8)'],
  ['F.relu(x)', 'relu(x)'],
  ['self.act(x)', 'act(x)'],
  ['timm.layers.norm.LayerNorm(8)', 'LayerNorm(8)'],
  // A method is called of the tensor before its point.
  ['x.view(8, -1)', 'view(x, 8, -1)'],
  ['lstm.h_n.view(8)', 'view(lstm.h_n, 8)'],
  ['Linear(8) frozen', 'Linear(8) frozen'],
  [
    'decoder(8) * 12 from a, b frozen precision=fp32 recompute',
    'decoder(8) * 12 from a, b frozen precision=fp32 recompute',
  ],
  ['Linear(8) frozen from a, b recompute', 'Linear(8) from a, b frozen recompute'],
  ['Linear(8) from frozen frozen', 'Linear(8) from frozen frozen'],
])('reads the call %s', (text, expected) => {
  const { result, issues } = parseCall(text, 0, text.length);
  expect([printCall(result), issues]).toEqual([expected, []]);
});

it.each([
  ['GELU', 'GELU()', '0-4 `GELU` is not called; write `GELU()`'],
  ['Linear(d, 4*d', 'Linear(d, (4 * d))', '13-13 `)` is missing; write it here'],
  ['Linear(d 4, 8)', 'Linear(d, 4, 8)', '9-10 `,` is missing before `4`'],
  ['Linear[d, 4]', 'Linear(d, 4)', '6-7 `Linear` is called with parentheses, `Linear(…)`, not with `[]`'],
  ['Linear{d, 4}', 'Linear(d, 4)', '6-7 `Linear` is called with parentheses, `Linear(…)`, not with `{}`'],
  [
    'Linear<d, 4> * 2',
    'Linear(d, 4) * 2',
    '6-7 `Linear` is called with parentheses, `Linear(…)`, not with `<>`',
  ],
  ['Linear(d, 4]', 'Linear(d, 4)', '11-12 the list ends with `)`, not with `]`'],
  ['Linear(d, 4} from x', 'Linear(d, 4) from x', '11-12 the list ends with `)`, not with `}`'],
  ['Linear(d, 4])', 'Linear(d, 4)', '11-12 the list ends with `)`, not with `]`'],
  ['pool((2, 3], 4)', 'pool([2, 3], 4)', '10-11 the list ends with `)`, not with `]`'],
  ['pool([2, 3), 4)', 'pool([2, 3], 4)', '10-11 the list ends with `]`, not with `)`'],
  ['Linear d, 4', 'Linear()', '7-11 write arguments in parentheses: `Linear(…)`'],
  ['Linear 4', 'Linear()', '7-8 write arguments in parentheses: `Linear(…)`'],
  ['down + input', 'add(down, input)', '0-12 a layer is one call: write `add(down, input)` instead of `+`'],
  ['x ** 2', 'pow(x, 2)', '0-6 a layer is one call: write `pow(x, 2)` instead of `**`'],
  ['2 * x', 'mul(2, x)', '0-5 a layer is one call: write `mul(2, x)` instead of `*`'],
  [
    '2 * decoder()',
    'unreadable',
    '0-1 expected the name of a layer, found `2`; write a repetition after the call: `decoder() * 2`',
  ],
  ['-x', 'unreadable', '0-1 expected the name of a layer, found `-`; write `neg(x)`'],
  [
    'Linear(8), ReLU()',
    'Linear(8)',
    '9-17 a layer is one call: put the rest on its own line, as `- name: Layer(…)`',
  ],
  [
    'Linear(8) -> ReLU()',
    'Linear(8)',
    '10-19 a layer is one call: put the rest on its own line, as `- name: Layer(…)`',
  ],
  [
    'x.view(x.size(0), -1)',
    'unreadable',
    '13-14 an argument cannot be a call: put a tensor on its own line; for a size use a dim, such as `batch`',
  ],
  [
    'x[:, 0]',
    'unreadable',
    '0-7 `x[…]` is not a call: use `select`, `narrow`, `slice` or `split` for parts of a tensor, and parentheses to call a block',
  ],
  [
    'x.shape[0]',
    'unreadable',
    '2-10 a size is not a layer; write the dim, such as `batch`, where it is needed',
  ],
  ['u @ v', 'matmul(u, v)', '0-5 a layer is one call: write `matmul(u, v)` instead of `@`'],
  ['x / 2', 'div(x, 2)', '0-5 a layer is one call: write `div(x, 2)` instead of `/`'],
  ['u @ v.T', 'unreadable', '0-7 a layer is one call: write `matmul(u, …)` instead of `@`'],
  ['a + b + c', 'unreadable', '0-9 a layer is one call: write `add(a, …)` instead of `+`'],
  ['MSELoss()(a, b.c)', 'MSELoss() from a, b.c', '9-17 write inputs after `from`: `MSELoss(…) from a, b`'],
  [
    'view(x, 8).transpose(1, 2)',
    'view(x, 8)',
    '10-26 a layer is one call: put the rest on its own line, as `transpose(…)`',
  ],
  [
    'silu(gate) + up',
    'silu(gate)',
    '11-15 a layer is one call: put the rest on its own line, as `add(…, …)`',
  ],
  ['GELU from x', 'GELU() from x', '0-4 `GELU` is not called; write `GELU()`'],
  ['GELU() x 3', 'GELU()', '7-8 unexpected `x` after the call; a layer is repeated with `* 3`'],
  ['Linear(d, )', 'Linear(d)', undefined],
  ['Linear(, d)', 'Linear(d)', '7-8 expected a value, found `,`'],
  ['Linear(d, bias=)', 'Linear(d)', '15-16 expected a value, found `)`'],
  ['Linear(d, 4*(d, 8)', 'Linear(d, (4 * [d, 8]))', '18-18 `)` is missing; write it here'],
  ["GELU('tanh)", "GELU('tanh')", "5-10 the text in quotes does not end; close it with `'`"],
  ['GELU() from', 'GELU()', '11-11 expected the name of a layer or input after `from`'],
  ['GELU() x y', 'GELU()', '7-8 unexpected `x` after the call'],
  ['GELU() frozn', 'GELU()', '7-12 unexpected `frozn` after the call; did you mean `frozen`?'],
  ['GELU() form x', 'GELU()', '7-11 unexpected `form` after the call; did you mean `from`?'],
  [
    'GELU() precision',
    'GELU() precision',
    '7-16 `precision` needs a value, one of fp32, tf32, fp16, bf16, fp8, nvfp4',
  ],
  [
    'GELU() precision=bf32',
    'GELU() precision=bf32',
    '17-21 `precision` is one of fp32, tf32, fp16, bf16, fp8, nvfp4, not `bf32`; did you mean `tf32`?',
  ],
  ['GELU() frozen=1', 'GELU() frozen', '14-15 `frozen` needs a word after `=`'],
  ['GELU() frozen=yes', 'GELU() frozen=yes', '14-17 `frozen` takes no value; remove `=yes`'],
  ['GELU() frozen frozen', 'GELU() frozen frozen', '14-20 `frozen` is given twice; remove one'],
  ['GELU() from lstm.', 'GELU() from lstm', '17-17 expected an output of `lstm`'],
  ['(3)', 'unreadable', '0-1 expected the name of a layer, found `(`'],
  ['', 'unreadable', '0-0 the layer has no call; write one such as `Linear(768, 3072)`'],
  ['f(§, 2)', 'f(2)', '2-3 expected a value, found `§`'],
])('recovers from %s', (text, expected, issue) => {
  const { result, issues } = parseCall(text, 0, text.length);
  expect(printCall(result)).toBe(expected);
  const [first] = issues;
  expect(first && `${first.span?.start}-${first.span?.end} ${first.message}`).toBe(issue);
});

it('reads any text without failing, and keeps every place inside it', () => {
  const words = fc.constantFrom(
    'Linear',
    '(',
    ')',
    '[',
    ']',
    ',',
    '=',
    '*',
    '**',
    '-',
    'from',
    '3',
    "'",
    '"',
    '\n',
    ' ',
    '.',
  );
  const texts = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.array(words, { maxLength: 40 }).map((parts) => parts.join('')),
  );
  fc.assert(
    fc.property(texts, (text) => {
      for (const parse of [parseCall, parseExpression]) {
        for (const { span } of parse(text, 0, text.length).issues) {
          expect(span?.start).toBeLessThanOrEqual(span?.end ?? -1);
          expect(span?.end).toBeLessThanOrEqual(text.length);
        }
      }
    }),
    { numRuns: 500 },
  );
});

it('gives up on nesting that would exhaust the stack', () => {
  const text = `f(${'('.repeat(100_000)}`;
  const { issues } = parseCall(text, 0, text.length);
  expect(issues.map((issue) => issue.message)).toContain('the expression is nested too deeply');
  expect(parseCall(`f(${'-'.repeat(100_001)}3)`, 0, 100_005).result?.arguments).toHaveLength(1);
  expect(parseExpression(`2${'**2'.repeat(100_000)}`, 0, 300_001).result).toBeUndefined();
});

it('stops at a thousand items, and says so once', () => {
  const text = `concat(${'x, '.repeat(5_000)}x) frozen from`;
  const { issues } = parseCall(text, 0, text.length);
  expect(issues.map(({ message }) => message)).toEqual([
    'there are more than 1000 items before `)`; write fewer, in several lines',
  ]);
});
