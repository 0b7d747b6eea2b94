/** Kernels that were timed one by one on a GPU (`gpuKernels.py`), as rows of the tables that others measured. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { MeasuredRow } from './readMeasured.ts';

const files = ['kernels-h200.jsonl', 'kernels-h200-b.jsonl'];

const head = z.looseObject({ gpu: z.string() });
const kernel = z.record(z.string(), z.union([z.string(), z.number(), z.null()]));

/** Of one table. `type` is as the other tables have it: half precision is fp16, whichever of the two it is. */
export function readKernels(folder: string, table: string): readonly MeasuredRow[] {
  return files.flatMap((file) => {
    const [first = '', ...lines] = readFileSync(join(folder, file), 'utf8').trimEnd().split('\n');
    const { gpu } = head.parse(JSON.parse(first));
    return lines.flatMap((line) => {
      const row = kernel.parse(JSON.parse(line));
      if (row.table !== table) return [];
      const texts = Object.entries(row).map(([column, value]) => [
        column,
        value === null ? '' : String(value),
      ]);
      return [{ ...Object.fromEntries(texts), gpu, source: 'layercost', measuredType: String(row.type) }];
    });
  });
}
