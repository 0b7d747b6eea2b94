/** A share as pages and tables show it: "12.5 %". */
export const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
