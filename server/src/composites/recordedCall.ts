/**
 * Calls of ATen that the exporter of `torch.export` writes as other operators, found by the call that it records of
 * each (`pkg.torch.onnx.name_scopes`). Nothing of what they compute has to be known but what backward keeps of them.
 *
 * Kept as PyTorch 2.13 has it (tools/autograd/derivatives.yaml); `scripts/measured/functionsOfTorch.py` measures it.
 */

import type { Graph, Operator } from '../model/graph.ts';
import { hasTrait } from '../operators/operatorFacts.ts';
import type { CallAutocast, CompositeMatch, Kept, OperatorOrigin } from './composite.ts';

export interface RecordedCall extends CompositeMatch {
  readonly name: string;
  readonly keeps: Kept;
  readonly autocast?: CallAutocast;
}

/** By the name of the function, with its overload where overloads keep other things. */
const keptBy: Readonly<Record<string, Kept>> = {
  'aten.angle': 'inputs',
  'aten.atan2': 'inputs',
  'aten.binary_cross_entropy': 'inputs',
  'aten.clamp.Tensor': 'inputs',
  'aten.complex': 'inputs',
  'aten.diagonal': 'nothing',
  'aten.exp2': 'result',
  'aten.expm1': 'result',
  'aten.frac': 'nothing',
  'aten.huber_loss': 'inputs',
  'aten.hypot': 'both',
  'aten.index_copy': 'input',
  'aten.kthvalue': 'positions',
  'aten.lerp.Scalar': 'nothing',
  'aten.lerp.Tensor': 'inputs',
  'aten.linalg_vector_norm': 'both',
  'aten.log10': 'inputs',
  'aten.log1p': 'inputs',
  'aten.log2': 'inputs',
  'aten.logaddexp': 'inputs',
  'aten.logaddexp2': 'inputs',
  'aten.logcumsumexp': 'both',
  'aten.logit': 'inputs',
  'aten.max.dim': 'positions',
  'aten.median.dim': 'positions',
  'aten.min.dim': 'positions',
  'aten.mode': 'positions',
  'aten.mse_loss': 'inputs',
  'aten.nan_to_num': 'inputs',
  'aten.polar': 'result',
  'aten.sinc': 'inputs',
  'aten.select_scatter': 'nothing',
  'aten.slice_scatter': 'nothing',
  'aten.smooth_l1_loss': 'inputs',
  'aten.soft_margin_loss': 'inputs',
  'aten.trunc': 'nothing',
  'aten.xlogy': 'inputs',
};

/** By the name of the function, where a list of autocast has it. */
const autocastBy: Readonly<Record<string, CallAutocast>> = {
  'aten.atan2': 'promote',
  'aten.expm1': 'fp32',
  'aten.huber_loss': 'fp32',
  'aten.linalg_vector_norm': 'fp32-result',
  'aten.log10': 'fp32',
  'aten.log1p': 'fp32',
  'aten.log2': 'fp32',
  'aten.mse_loss': 'fp32',
  'aten.smooth_l1_loss': 'fp32',
  'aten.soft_margin_loss': 'fp32',
};

/** Whether what was called is one kernel that may stand as several operators in a file; `called` has its overload. */
export const isRecordedKernel = (called: string): boolean => keptAs(called) !== undefined;

const keptAs = (called: string): string | undefined =>
  [called, withoutOverload(called)].find((name) => keptBy[name] !== undefined);

/** Functions that become one operator, which keeps other things where a program calls it by its own name. */
const otherThanItsOperator: ReadonlySet<string> = new Set([
  'aten.exp2',
  'aten.kthvalue',
  'aten.max.dim',
  'aten.median.dim',
  'aten.min.dim',
  'aten.mode',
]);

/** Calls of which no operator is in a composite, by what `isTaken` says. */
export function recordedCalls(
  { operators, values }: Graph,
  originOf: (index: number) => OperatorOrigin,
  isTaken: (index: number) => boolean,
): readonly RecordedCall[] {
  const calls = new Map<string, { readonly of: string; readonly members: Operator[] }>();
  for (const operator of operators) {
    const call = originOf(operator.index).call;
    if (call === undefined) continue;
    const of = keptAs(call.function);
    if (of === undefined) continue;
    const known = calls.get(call.name) ?? { of, members: [] };
    known.members.push(operator);
    calls.set(call.name, known);
  }
  return [...calls.values()].flatMap(({ of, members: all }) => {
    const keeps = keptBy[of];
    // Equal constants of several calls are one, which stands in the first.
    const own = new Set(all.map(({ index }) => index));
    const isShared = ({ outputs }: Operator): boolean =>
      outputs.some((name) => values.get(name)?.consumers.some((index) => !own.has(index)) === true);
    const members = all.filter((operator) => !(hasTrait(operator, 'constant') && isShared(operator)));
    if (keeps === undefined || members.some(({ index }) => isTaken(index))) return [];
    if (members.length === 1 && !otherThanItsOperator.has(of)) return [];
    const operators = members.map(({ index }) => index);
    // What is written, of all that a call reads.
    const written =
      keeps === 'input' ? members.find(({ type }) => type === 'ScatterND')?.inputs[2] : undefined;
    const roles = written === undefined ? {} : { input: written };
    const autocast = autocastBy[of];
    const listed = autocast === undefined ? {} : { autocast };
    return [{ name: nameOf(of), keeps, ...listed, operators, roles, launchedAs: 'one' as const }];
  });
}

/** `aten.expm1.default` is an overload of `aten.expm1`. */
const withoutOverload = (called: string): string => called.split('.').slice(0, 2).join('.');

/** `aten.mse_loss` is `MseLoss` among layers. */
const nameOf = (of: string): string =>
  (of.split('.')[1] ?? of)
    .split('_')
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join('');
