/**
 * How many tokens an expert takes, which only the run decides: as if all experts were chosen equally often.
 *
 * Programs that loop over experts choose k of them for each token (TopK), compare or one-hot encode the choice, and look up
 * where an expert was chosen (NonZero). Of `tokens × k` choices each of n experts takes `tokens × k ÷ n`, and every expert is
 * hit. The sum over experts is that of any routing that drops no token; the auxiliary loss of Switch Transformers (Fedus et
 * al., JMLR 2022, section 2.2) trains routers towards equal shares.
 */

import {
  ceilDivideDimensions,
  divideExactly,
  isUnknown,
  multiplyDimensions,
  productOfDimensions,
} from '../model/dimension.ts';
import { isKnownShape, type Operator, type Routing, type Value, type ValueType } from '../model/graph.ts';
import { hasTrait } from '../operators/operatorFacts.ts';
import { normalizeAxis } from '../operators/vocabulary/axes.ts';

type RoutedValue = Pick<Value, 'type' | 'content' | 'routing'>;
type Inputs = readonly (RoutedValue | undefined)[];

/** What an output says of the choice of experts; `undefined` where it has to do with none. */
export function routingOf(
  operator: Pick<Operator, 'type' | 'domain' | 'attributes'>,
  inputs: Inputs,
  outputs: readonly ValueType[],
  output: number,
): Routing | undefined {
  const given = inputs[0]?.routing ?? inputs[1]?.routing;
  if (operator.type === 'TopK' ? output === 1 : operator.type === 'ArgMax') {
    const experts = sizeAlongAxis(operator, inputs[0]?.type);
    return experts === undefined || experts < 2 ? undefined : { kind: 'choice', experts };
  }
  if (given === undefined) return undefined;
  switch (operator.type) {
    case 'OneHot':
    case 'Equal': {
      if (given.kind !== 'choice') return undefined;
      const depth = inputs[1]?.content?.elements[0];
      const isCounted = operator.type === 'OneHot' && typeof depth === 'number' && depth > 1;
      return { kind: 'hits', of: isCounted ? depth : given.experts, share: 1 };
    }
    case 'ReduceSum':
    case 'ReduceMax': {
      if (given.kind !== 'hits') return undefined;
      const joined = ratioOf(inputs[0]?.type, outputs[output]);
      // Where the number of tokens is open, there are more of them than experts.
      return { ...given, share: joined === undefined ? given.of : Math.min(given.of, given.share * joined) };
    }
    case 'Greater':
      return inputs[0]?.routing?.kind === 'hits' ? given : undefined;
    case 'Gather':
      return inputs[0]?.routing;
    default:
      return keepsElements(operator) ? inputs[0]?.routing : undefined;
  }
}

const keepsElements = (operator: Pick<Operator, 'type' | 'domain'>): boolean =>
  hasTrait(operator, 'layout') ||
  hasTrait(operator, 'passes-elements') ||
  hasTrait(operator, 'copies-elements');

/** What NonZero gives for each hit: as many coordinates as are expected. */
export function expectedHits(
  operator: Pick<Operator, 'type'>,
  inputs: Inputs,
  inferred: ValueType,
): ValueType {
  const [input] = inputs;
  if (operator.type !== 'NonZero' || input?.routing?.kind !== 'hits') return inferred;
  if (input.type.kind !== 'tensor' || !isKnownShape(input.type.shape)) return inferred;
  if (inferred.kind !== 'tensor' || !isKnownShape(inferred.shape)) return inferred;
  const [coordinates, count] = inferred.shape;
  if (coordinates === undefined || count === undefined || !isUnknown(count)) return inferred;
  const { share, of } = input.routing;
  const hits = ceilDivideDimensions(multiplyDimensions(productOfDimensions(input.type.shape), share), of);
  return { ...inferred, shape: [coordinates, hits] };
}

function sizeAlongAxis({ type, attributes }: Pick<Operator, 'type' | 'attributes'>, input?: ValueType) {
  if (input?.kind !== 'tensor' || !isKnownShape(input.shape)) return undefined;
  const given = attributes.get('axis');
  const usual = type === 'TopK' ? -1 : 0;
  const axis = normalizeAxis(given?.kind === 'int' ? given.value : usual, input.shape.length);
  const size = axis === undefined ? undefined : input.shape[axis];
  return typeof size === 'number' ? size : undefined;
}

/** How many elements of the input make one of the result. */
function ratioOf(input: ValueType | undefined, result: ValueType | undefined): number | undefined {
  const [before, after] = [input, result].map((type) =>
    type?.kind === 'tensor' && isKnownShape(type.shape) ? productOfDimensions(type.shape) : undefined,
  );
  if (before === undefined || after === undefined) return undefined;
  const ratio = divideExactly(before, after);
  return typeof ratio === 'number' ? ratio : undefined;
}
