/** What a plan says after its counts where parts of the model have no cost; '' where all have one. */
export const unknownPartsText = (isExact: boolean): string =>
  isExact ? '' : '. Parts of the model are unknown: times and memory are lower bounds';
