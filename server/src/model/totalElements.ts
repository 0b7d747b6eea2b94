/** Elements of several tensors in all. */
export const totalElements = (tensors: readonly { readonly elements: number }[]): number =>
  tensors.reduce((total, { elements }) => total + elements, 0);
