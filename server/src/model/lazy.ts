/** What is made when it is first asked for, and then kept: some who plan a step ask for its memory alone. */
export function lazy<Made>(make: () => Made): () => Made {
  let made: { readonly value: Made } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
