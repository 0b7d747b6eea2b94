/**
 * `npm run samples [NAME ...]` writes the sample models. `npm run samples -- --exports [NAME ...]` exports thirty models in
 * every way that people export them, costs each file, and writes the table `measured/exports.jsonl`; with names, it
 * replaces their rows. Both need PyTorch; what else is needed is in `samples/scripts/requirements.txt`.
 */

import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { loadSource, root } from './loadSource.mjs';

const table = join(root, 'measured/exports.jsonl');
const [option, ...names] = process.argv.slice(2);
const python = (script, parameters, stdio) =>
  spawn('python3', [join(root, 'samples/scripts', script), ...parameters], { stdio });
const ended = (child) => new Promise((resolve) => child.on('close', (code) => resolve(code ?? 1)));

process.exitCode =
  option === '--exports'
    ? await exportAndCost(names)
    : await ended(python('export.py', process.argv.slice(2), 'inherit'));

async function exportAndCost(only) {
  const { costExport } = await loadSource('scripts/exports/costExport.ts');
  const folder = mkdtempSync(join(tmpdir(), 'layercost-exports-'));
  const child = python(
    'exports.py',
    [folder, ...(only.length > 0 ? ['--only', ...only] : [])],
    ['ignore', 'pipe', process.env.VERBOSE ? 'inherit' : 'ignore'],
  );
  const exited = ended(child);
  const rows = [];
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const { file, ...row } = JSON.parse(line);
      if (file === undefined) rows.push(row);
      else {
        try {
          rows.push({ ...row, ...costExport(file) });
        } catch (error) {
          rows.push({ ...row, failed: String(error) });
        }
        rmSync(file);
      }
      console.log(JSON.stringify(rows.at(-1)));
    }
    const code = await exited;
    if (code !== 0) return code;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const replaced = new Set(rows.map(({ model }) => model));
  const kept =
    only.length > 0 && existsSync(table)
      ? readFileSync(table, 'utf8')
          .split('\n')
          .filter((line) => line !== '' && !replaced.has(JSON.parse(line).model))
      : [];
  const lines = [...kept, ...rows.map((row) => JSON.stringify(row))];
  // Versions first; a model's rows stay together.
  writeFileSync(
    table,
    `${lines.sort((a, b) => Number(!a.startsWith('{"versions"')) - Number(!b.startsWith('{"versions"'))).join('\n')}\n`,
  );
  return 0;
}
