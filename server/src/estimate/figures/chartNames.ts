/** The charts of a report, in the order a reader needs them. */
export const chartNames = [
  'timeline',
  'memory',
  'modules-time',
  'modules-saved',
  'modules-parameters',
  'modules-exposed',
  'roofline',
  'scaling',
] as const;
export type ChartName = (typeof chartNames)[number];
