/** The line of a dropout, which a model whose share is 0 does not have. */
export const dropoutLines = (name: string, share = 0): readonly string[] =>
  share > 0 ? [`${name}: Dropout(${share})`] : [];
