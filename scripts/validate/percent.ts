/** A share as pages and tables show it: "12.5 %". */
export const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

/** A deviation: "+3.7 %", "−0.9 %". */
export const signedPercent = (share: number): string => `${share < 0 ? '−' : '+'}${percent(Math.abs(share))}`;
