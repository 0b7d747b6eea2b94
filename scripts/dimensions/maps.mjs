/** Writes the dimension maps of cases: `node scripts/dimensions/maps.mjs CASES.json MAPS.json`, for `execute.py`. */

import { readFileSync, writeFileSync } from 'node:fs';
import { loadSource } from '../loadSource.mjs';

const [from, to] = process.argv.slice(2);
const { mapOfRecord } = await loadSource('scripts/dimensions/recordedCase.ts');
writeFileSync(
  to,
  JSON.stringify(JSON.parse(readFileSync(from, 'utf8')).map((record) => mapOfRecord(record) ?? null)),
);
