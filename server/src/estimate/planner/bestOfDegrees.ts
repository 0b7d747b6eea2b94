/** The layouts that a list shows. */

import type { LayoutCandidate } from './layoutCandidate.ts';

/** The fastest of each pair of degrees: runners-up that differ from the best in a micro-batch tell little. */
export function bestOfDegrees(fitting: readonly LayoutCandidate[]): readonly LayoutCandidate[] {
  const seen = new Set<string>();
  return fitting.filter(({ tensor, pipeline, context, expert, framework }) => {
    const key = `${tensor} ${pipeline} ${context} ${expert} ${framework.name}`;
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}
