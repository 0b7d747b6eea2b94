import type { InferenceContext } from '../definition.ts';

/** The same operator seen with only these inputs, in this order: the data among scales and zero points. */
export function pickInputs(context: InferenceContext, indices: readonly number[]): InferenceContext {
  const place = (index: number): number => indices[index] ?? -1;
  return {
    ...context,
    inputCount: indices.length,
    ownIndex: place,
    inputType: (index) => context.inputType(place(index)),
    inputShape: (index) => context.inputShape(place(index)),
    inputElementType: (index) => context.inputElementType(place(index)),
    inputContent: (index) => context.inputContent(place(index)),
  };
}
