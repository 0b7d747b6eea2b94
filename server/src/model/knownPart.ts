/** What is known of a part of a sum. A part that is not adds nothing, and the sum is a lower bound, which is said beside it. */
export const knownPart = (part: number | null | undefined): number => part ?? 0;
