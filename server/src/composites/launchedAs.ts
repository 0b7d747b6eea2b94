/** Whether the framework ran one kernel for a composite: what the file says goes before what the graph shows. */

import type { CompositeMatch, CompositePattern, LaunchedAs, OperatorOrigin } from './composite.ts';

/**
 * The torch.export-based exporter records the call that each operator is a part of (`pkg.torch.onnx.name_scopes`): a
 * composite of one call was one function of ATen, one of several calls was written out, or one that the exporter
 * decomposed, as it does RMSNorm before operator set 23. Those stand in a module of `torch.nn`, or show in a call that
 * only decompositions make. A layer of a layer spec is one by its definition, unless the
 * pattern says otherwise. A pattern
 * without modules shows in the graph how it was launched, but where nothing does.
 */
export function launchedAs(
  {
    modules,
    isTakenApart,
    ownFunctions = [],
    ofOneLine = 'one',
  }: Pick<CompositePattern, 'modules' | 'isTakenApart' | 'ownFunctions' | 'ofOneLine'>,
  match: CompositeMatch,
  originOf: (index: number) => OperatorOrigin,
): LaunchedAs {
  // What takes one of several results, as of a split, computes nothing and is no call of its own; what optimizers join says nothing.
  const origins = match.operators
    .map(originOf)
    .filter(({ call, moduleClass, layer }) =>
      call === undefined ? moduleClass !== undefined || layer !== undefined : call.function !== takesResult,
    );
  const [first] = origins;
  if (first === undefined) return match.launchedAs;
  const calls = origins.flatMap(({ call }) => call ?? []);
  const isOneCall = new Set(calls.map(({ name }) => name)).size === 1;
  if (modules === undefined) {
    if (match.launchedAs !== 'assumed-one' || calls.length === 0) return match.launchedAs;
    return isOneCall ? 'one' : 'several';
  }
  const own = origins.every(({ moduleClass }) => isOneOf(modules, moduleClass));
  if (first.layer !== undefined) {
    return own && origins.every(({ layer }) => layer === first.layer) ? ofOneLine : 'several';
  }
  if (own) return 'one';
  if (origins.every(({ moduleClass }) => ownFunctions.includes(moduleClass?.split('.').at(-1) ?? '')))
    return 'assumed-one';
  if (calls.length === 0) return first.moduleClass === undefined ? match.launchedAs : 'several';
  if (isOneCall) return 'one';
  if (isTakenApart) return match.launchedAs;
  return calls.some((call) => decomposed.has(call.function)) ? 'one' : 'several';
}

/** Whether one line of a layer spec stands for all of it: that line says how it runs, whatever is asked of the model. */
export function isOfOneLine(
  { operators }: CompositeMatch,
  originOf: (index: number) => OperatorOrigin,
): boolean {
  const lines = new Set(operators.map((index) => originOf(index).layer));
  return lines.size === 1 && !lines.has(undefined);
}

const isOneOf = (modules: readonly string[], moduleClass: string | undefined): boolean => {
  if (moduleClass === undefined) return false;
  const name = moduleClass.slice(moduleClass.lastIndexOf('.') + 1);
  const isLibrary = name === moduleClass || moduleClass.startsWith('torch.nn.modules.');
  return isLibrary && modules.includes(name);
};

/** As the exporter records `operator.getitem`. */
const takesResult = '<built-in function getitem>';

/** Overloads that a program does not call: `x + 1e-6` is `aten.add.Tensor` (PyTorch 2.x torch/_decomp). */
const decomposed: ReadonlySet<string> = new Set(['aten.add.Scalar']);
