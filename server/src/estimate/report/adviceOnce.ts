/** Several findings may give the same advice: a reader needs it once, a program at each. */

import type { Report } from './report.ts';

/** The findings, where the same advice stands at the last of those that give it alone. */
export const adviceOnce = ({ findings }: Report): Report['findings'] =>
  findings.map((finding, index) =>
    findings.slice(index + 1).some(({ code, fix }) => code === finding.code && fix === finding.fix)
      ? { ...finding, fix: '' }
      : finding,
  );
