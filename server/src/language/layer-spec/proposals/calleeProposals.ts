/** What a line may call. */

import { layerDefinitions } from '../../../lowering/layer-spec/layerDefinitions.ts';
import type { Completion } from '../../completion.ts';
import {
  type Callable,
  callableBlocks,
  callableLayer,
  describeCallable,
  onnxOperators,
} from '../callable.ts';
import { inputShape } from './inputShape.ts';
import { type ProposalSite, proposal } from './proposalSite.ts';

/** Blocks of the file, then layers whose rank fits the input, then the other layers, then ONNX operators. */
export function calleeProposals(site: ProposalSite): readonly Completion[] {
  const { document, context } = site;
  const blocks = callableBlocks(document).filter(({ name }) => name !== context.block);
  const layers = layerDefinitions.map(callableLayer);
  const rank = inputShape(site)?.length;
  const fits = ({ name }: Callable): boolean => {
    const axes = /([123])d$/.exec(name)?.[1];
    return axes === undefined || rank === undefined || Number(axes) + 2 === rank;
  };
  const named = new Set([...blocks, ...layers].map(({ name }) => name));
  const ordered = [
    ...blocks,
    ...layers.filter(fits),
    ...layers.filter((layer) => !fits(layer)),
    ...onnxOperators().filter(({ name }) => !named.has(name)),
  ];
  const hasArguments = /^\s*\w*\s*\(/.test(context.after);
  return ordered.map((callable): Completion => {
    const { name, kind, signature } = callable;
    const base = proposal(site, name, kind, signature, describeCallable(callable));
    if (hasArguments) return base;
    return takesNothing(callable)
      ? { ...base, insert: `${name}()` }
      : { ...base, insert: `${name}($0)`, snippet: true, asksForArguments: true };
  });
}

/** Nothing must be written in its parentheses, and nothing usually is. */
const takesNothing = ({ kind, takesMoreTensors, tensors, parameters }: Callable): boolean =>
  kind !== 'operator' &&
  !takesMoreTensors &&
  tensors.length <= 1 &&
  parameters.every((parameter) => parameter.default !== undefined);
