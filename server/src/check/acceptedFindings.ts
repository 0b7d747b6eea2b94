/** The baseline: findings that were there when it was written, which fail no check from then on. */

import { z } from 'zod';
import type { Judgement } from './judgement.ts';

export interface AcceptedFinding {
  readonly check: string;
  /** Without `findings/`. */
  readonly code: string;
  readonly layer: string;
}

const baselineSchema = z.object({
  version: z.literal(1),
  accepted: z.array(z.object({ check: z.string(), code: z.string(), layer: z.string() })),
});

/** `undefined` where the text is no baseline. */
export function readBaseline(text: string): readonly AcceptedFinding[] | undefined {
  try {
    return baselineSchema.parse(JSON.parse(text)).accepted;
  } catch {
    return undefined;
  }
}

/** In the order of checks and layers, so that a change of the file shows what changed. */
export function writeBaseline(judgements: readonly Judgement[]): string {
  const accepted = judgements.flatMap(({ check, findings }) =>
    findings.map(({ code, layer }): AcceptedFinding => ({ check: check.name, code, layer })),
  );
  return `${JSON.stringify({ version: 1, accepted }, null, 2)}\n`;
}
