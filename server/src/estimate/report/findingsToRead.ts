/** Findings as a person reads them: the worst first, and the same advice of several once. A program has it at each. */

import type { Severity } from '../../model/issue.ts';
import type { Report } from './report.ts';

/** The same advice stands at the last of those that give it alone. */
export function findingsToRead({ findings }: Report): Report['findings'] {
  const sorted = findings.toSorted((one, other) => ranks[one.severity] - ranks[other.severity]);
  return sorted.map((finding, index) =>
    sorted.slice(index + 1).some(({ fix }) => fix === finding.fix) ? { ...finding, fix: '' } : finding,
  );
}

const ranks: Readonly<Record<Severity, number>> = { error: 0, warning: 1, information: 2 };
