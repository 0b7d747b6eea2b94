/**
 * Casts that the default exporter of PyTorch leaves out: `x.float()` and `x.to(y.dtype)` change nothing of a program in fp32, and a
 * decomposed program has none of them (torch/_decomp, `_to_copy`). In half precision they decide what type a module computes in.
 */

import type { OperatorOrigin } from '../composites/composite.ts';
import type { Composites } from '../composites/findComposites.ts';
import { isFloatingPoint } from '../model/elementType.ts';
import { type Graph, isKnownShape, type Operator } from '../model/graph.ts';
import type { Issue } from '../model/issue.ts';
import { hasTrait, inPyTorch } from '../operators/operatorFacts.ts';

/**
 * What is said where classes of the program itself call what autocast runs in fp32, around which programs cast, and where the line
 * that called an operator casts. `isAuxiliary`: whether an operator computes nothing of a step. `traceOf`: its recorded stack trace.
 */
export function issuesOfLostCasts(
  { operators, values }: Graph,
  composites: Composites,
  originOf: (index: number) => OperatorOrigin,
  isAuxiliary: (index: number) => boolean,
  traceOf: (index: number) => string | undefined,
): readonly Issue[] {
  const isFloat = (name: string | undefined): boolean => {
    const type = values.get(name ?? '')?.type;
    return type?.kind === 'tensor' && isFloatingPoint(type.elementType);
  };
  // A cast that does nothing shows that casts are in the file.
  const isIdle = (operator: Operator): boolean =>
    hasTrait(operator, 'casts') && isFloat(operator.inputs[0]) && isFloat(operator.outputs[0]);
  if (operators.some(isIdle)) return issuesOfLostReturns({ operators, values }, composites, isIdle);
  const written = operators.filter((operator) => {
    const { call, moduleClass } = originOf(operator.index);
    // The model itself has no class of its own here.
    if (call === undefined || moduleClass?.startsWith('torch.nn.') === true) return false;
    if (isAuxiliary(operator.index) || !isFloat(operator.outputs[0])) return false;
    if (composites.get(operator.index)?.launchedAs === 'one') return false;
    if (isLineWithCast(traceOf(operator.index))) return true;
    return /^fp32/.test(inPyTorch(operator)?.autocast ?? '') && !hasTrait(operator, 'activation');
  });
  const [first] = written;
  if (first === undefined) return [];
  const classes = [...new Set(written.map(({ index }) => nameOf(originOf(index).moduleClass)))];
  const [name] = classes;
  const others = classes.length === 1 ? '' : ` and ${classes.length - 1} more`;
  return [
    {
      code: 'graph/lost-casts',
      severity: 'information',
      message: `In half precision, ${name}${others} may cast between types: the exporter left out casts that change nothing in fp32. Time and memory there are of the types that autocast gives. Export with \`torch.export.save\`, which keeps casts`,
      operator: first.source,
    },
  ];
}

/**
 * Normalizations that cast what they read and not what they give, in files of the TorchScript exporter: it writes `x.float()`, and
 * leaves out `y.type_as(x)` where the types are one (torch/onnx, `symbolic_opset9.type_as`). Gemma and Meta's LLaMA are written so.
 */
function issuesOfLostReturns(
  graph: Pick<Graph, 'operators' | 'values'>,
  composites: Composites,
  isIdle: (operator: Operator) => boolean,
): readonly Issue[] {
  const { operators, values } = graph;
  const readersOf = (name: string) =>
    (values.get(name)?.consumers ?? []).flatMap((index) => operators[index] ?? []);
  const isCast = (operator: Operator | undefined): boolean => operator !== undefined && isIdle(operator);
  const isVector = (name: string): boolean => {
    const type = values.get(name)?.type;
    return type?.kind === 'tensor' && isKnownShape(type.shape) && type.shape.length <= 1;
  };
  const isReturned = (name: string): boolean =>
    readersOf(name).some((reader) => {
      if (isIdle(reader)) return true;
      const isScale = reader.inputs.some((other) => other !== name && isVector(other));
      return isScale && (reader.type === 'Mul' || reader.type === 'Add') && reader.outputs.some(isReturned);
    });
  const found = new Set(
    [...composites.values()].filter(({ kind, launchedAs, roles, outputs, operators: indices }) => {
      if (launchedAs === 'one' || (kind !== 'rms-norm' && kind !== 'layer-norm')) return false;
      const readers = readersOf(roles.input ?? '').filter(({ index }) => indices.includes(index));
      const [cast, ...others] = readers;
      const isAlone = others.length === 0 && cast !== undefined && isIdle(cast);
      if (!isAlone || !cast.outputs[0]?.startsWith('/')) return false;
      const isCastAgain = indices.some((index) => index !== cast.index && isCast(operators[index]));
      return !isCastAgain && !outputs.some(isReturned);
    }),
  );
  const [first] = found;
  const source = operators[first?.operators[0] ?? -1]?.source;
  if (first === undefined || source === undefined) return [];
  const count = found.size === 1 ? '1 normalization casts' : `${found.size} normalizations cast`;
  return [
    {
      code: 'graph/lost-casts',
      severity: 'information',
      message: `${count} what comes in and not what goes out. The TorchScript exporter leaves out \`type_as\` where it changes nothing in fp32. Without it, what follows is of the type that autocast gives. Export with \`torch.export.save\`, which keeps it`,
      operator: source,
    },
  ];
}

/** Whether the innermost line casts: as people write it, or as `torch.export` names results of casts where a region was traced. */
function isLineWithCast(trace: string | undefined): boolean {
  const line = trace?.slice(trace.trimEnd().lastIndexOf('\n') + 1) ?? '';
  if (/\.(?:float|half|type_as)\(|\.to\([^)]*(?:dtype|float|half)/.test(line)) return true;
  return /\btorch\.ops\./.test(line) && /[(,]\s*(?:to|float|type_as)(?:_\d+)?\s*[,)]/.test(line);
}

const nameOf = (moduleClass: string | undefined): string =>
  moduleClass === undefined ? 'the model' : `\`${moduleClass.slice(moduleClass.lastIndexOf('.') + 1)}\``;
