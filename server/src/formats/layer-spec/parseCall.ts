/**
 * Calls of layers and blocks in PyTorch style: what stands behind the name of a layer.
 *
 * Recovers: an argument that cannot be read is left out with an issue at its place, and the others are kept.
 */

import {
  expectEndOfCall,
  reportMissingOpening,
  reportNoCall,
  reportSubscript,
  takeJoinedTensors,
  takeMisplacedArguments,
  takeSecondCall,
} from './callMistakes.ts';
import { takeUnary } from './parseExpression.ts';
import { takeReferences } from './parseNames.ts';
import type { Argument, LayerCall, Mark, Name } from './syntax.ts';
import { takeArguments } from './takeArguments.ts';
import { takeMark } from './takeMark.ts';
import { type Parsed, parseTokens, type TokenCursor } from './tokenCursor.ts';

/** `Conv2d(64, kernel_size=3) * 2 from stem frozen` in `text[start, end)`. */
export function parseCall(text: string, start: number, end: number): Parsed<LayerCall> {
  return parseTokens(text, start, end, (cursor) => takeCall(cursor, text.slice(start, end)));
}

function takeCall(cursor: TokenCursor, written: string): LayerCall | undefined {
  if (reportMissingOpening(cursor)) return undefined;
  const joined = takeJoinedTensors(cursor, written);
  if (joined !== undefined || cursor.issues.length > 0) return joined;
  const { callee, receiver, isOperator } = takeCallee(cursor);
  if (callee === undefined) {
    reportNoCall(cursor);
    return undefined;
  }
  const { start } = cursor.token.span;
  if (cursor.at('[') && isFunction(callee)) {
    reportSubscript(cursor, callee, receiver !== undefined);
    return undefined;
  }
  const given = cursor.at('(') ? takeArguments(cursor, ')') : takeMisplacedArguments(cursor, callee);
  const argumentsSpan = { start, end: Math.max(start, cursor.previousEnd) };
  let sources = cursor.at('(') ? takeSecondCall(cursor, callee) : [];
  const repetition = cursor.take('*') ? takeUnary(cursor) : undefined;
  const marks: Mark[] = [];
  // Both orders read well, so both are read.
  while (cursor.token.kind === 'name') {
    if (sources.length === 0 && cursor.takeWord('from')) {
      sources = takeReferences(cursor, 'the name of a layer or input after `from`');
    } else {
      const mark = takeMark(cursor, marks);
      if (mark === undefined) break;
      marks.push(mark);
    }
  }
  expectEndOfCall(cursor);
  if (cursor.holdsCall) return undefined;
  return {
    written,
    callee,
    ...(isOperator ? { isOperator } : {}),
    // `x.view(8)` is `view(x, 8)`.
    arguments: receiver === undefined ? given : [receiver, ...given],
    argumentsSpan,
    repetition,
    sources,
    marks,
  };
}

/** `torch.nn.Linear` gives `Linear`; `x.view` and `lstm.h_n.view` give `view`, called of a tensor. */
function takeCallee(cursor: TokenCursor): {
  readonly callee: Name | undefined;
  readonly receiver: Argument | undefined;
  readonly isOperator: boolean;
} {
  const names: Name[] = [];
  for (let name = cursor.takeName(); name !== undefined; name = cursor.takeName()) {
    names.push(name);
    if (!cursor.at('.') || cursor.peek().kind !== 'name') break;
    cursor.advance();
  }
  const callee = names.at(-1);
  const [object, member] = names.slice(0, -1);
  const isMethod = callee !== undefined && isFunction(callee) && names.length <= 3;
  if (!isMethod || object === undefined || pythonModules.has(object.text)) {
    const isOperator = names.length === 2 && object?.text === 'onnx';
    return { callee, receiver: undefined, isOperator };
  }
  const span = { start: object.span.start, end: (member ?? object).span.end };
  return {
    callee,
    isOperator: false,
    receiver: {
      keyword: undefined,
      value:
        member === undefined
          ? { kind: 'name', name: object.text, span }
          : { kind: 'member', object, member, span },
      span,
    },
  };
}

/** Classes of layers begin with a capital, functions of tensors do not. */
const isFunction = ({ text }: Name): boolean => /^[a-z]/.test(text);

/** What people put before a layer or function as Python does, though it is no tensor. */
const pythonModules: ReadonlySet<string> = new Set(
  'onnx torch nn F functional self torchvision tv ops np numpy math timm einops transformers tf keras jax jnp'.split(
    ' ',
  ),
);
