/** The key of a block: its name, its parameters, what it is given and what leaves it. */

import { takeReferences } from './parseNames.ts';
import type { BlockParameter, SpecBlock } from './syntax.ts';
import { takeArguments } from './takeArguments.ts';
import { type Parsed, parseTokens, type TokenCursor } from './tokenCursor.ts';

type Signature = Pick<SpecBlock, 'name' | 'parameters' | 'inputs' | 'outputs'>;

/** `bottleneck`, `bottleneck(width, stride=1)` or `attention(d) from query, memory to out, weights`. */
export function parseSignature(text: string, start: number, end: number): Parsed<Signature> {
  return parseTokens(text, start, end, takeSignature);
}

function takeSignature(cursor: TokenCursor): Signature | undefined {
  const name = cursor.takeName();
  if (name === undefined) {
    cursor.report(
      cursor.token.span,
      'a block is named like a Python function, such as `bottleneck(width, stride=1)`',
    );
    return undefined;
  }
  if (!cursor.at('(') && cursor.endsWith(')')) {
    cursor.report(name.span, `\`(\` is missing after the name of the block, in \`${name.text}\``);
    return undefined;
  }
  const parameters = cursor.at('(') ? takeParameters(cursor) : [];
  const inputs = cursor.takeWord('from') ? takeReferences(cursor, 'the name of an input of the block') : [];
  for (const { output } of inputs) {
    if (output !== undefined) cursor.report(output.span, 'an input of a block is one name, without a dot');
  }
  const outputs = cursor.takeWord('to')
    ? takeReferences(cursor, 'the name of a layer of the block after `to`')
    : [];
  cursor.expectEnd('the block name');
  return { name, parameters, inputs: inputs.map(({ text, span }) => ({ text, span })), outputs };
}

function takeParameters(cursor: TokenCursor): readonly BlockParameter[] {
  const parameters: BlockParameter[] = [];
  for (const { keyword, value, span } of takeArguments(cursor, ')')) {
    if (keyword !== undefined) parameters.push({ name: keyword, default: value });
    else if (value.kind === 'name') {
      parameters.push({ name: { text: value.name, span: value.span }, default: undefined });
    } else {
      cursor.report(span, 'a block parameter is a name, optionally with `=` and a default');
    }
  }
  return parameters;
}
