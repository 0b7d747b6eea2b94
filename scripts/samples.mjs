/**
 * `npm run samples [NAME ...]` writes the sample models. `npm run samples -- --exports [NAME ...]` exports thirty models in
 * every way that people export them, costs each file, and writes the table `measured/exports.jsonl`; with names, it
 * replaces their rows. `npm run samples -- --optimized [NAME ...]` does so for exports that were optimized for inference, in
 * `measured/optimized.jsonl`, and `npm run samples -- --programs [NAME ...]` for archives of `torch.export`, in
 * `measured/programs.jsonl`; `--written` exports networks as people write them, four ways each, for `measured/written.jsonl`. `--folder FOLDER` keeps the exported files; where they are there, they are costed again. All need
 * PyTorch; what else is needed is in `samples/scripts/requirements.txt`.
 */

import { spawn } from 'node:child_process';
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { loadSource, root } from './loadSource.mjs';

const costs = {
  exports: async () => (await loadSource('scripts/exports/costExport.ts')).costExport,
  programs: async () => (await loadSource('scripts/exports/costProgram.ts')).costProgram,
};
const tables = {
  '--exports': { table: join(root, 'measured/exports.jsonl'), script: 'exports.py', cost: costs.exports },
  '--optimized': {
    table: join(root, 'measured/optimized.jsonl'),
    script: 'optimized.py',
    cost: costs.exports,
  },
  '--programs': { table: join(root, 'measured/programs.jsonl'), script: 'programs.py', cost: costs.programs },
  '--written': { table: join(root, 'measured/written.jsonl'), script: 'asWritten.py', cost: costs.programs },
};
const [option, ...parameters] = process.argv.slice(2);
const python = (script, parameters, stdio) =>
  spawn('python3', [join(root, 'samples/scripts', script), ...parameters], { stdio });
const ended = (child) => new Promise((resolve) => child.on('close', (code) => resolve(code ?? 1)));
const linesOf = (path) => (existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : []);

process.exitCode =
  tables[option] !== undefined
    ? await exportAndCost(tables[option], parameters)
    : await ended(python('export.py', process.argv.slice(2), 'inherit'));

async function exportAndCost(target, parameters) {
  const at = parameters.indexOf('--folder');
  const only = at < 0 ? parameters : parameters.toSpliced(at, 2);
  if (at >= 0) return costFolder(target, resolve(parameters[at + 1]), only);
  const folder = mkdtempSync(join(tmpdir(), 'layercost-exports-'));
  try {
    return await costFolder(target, folder, only);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Exports to `folder` the models that are not there, and costs all. */
async function costFolder({ table, script, cost }, folder, only) {
  const costFile = await cost();
  const list = join(folder, 'exports.jsonl');
  const isWanted = ({ model }) => only.length === 0 || model === undefined || only.includes(model);
  const exported = linesOf(list).map((line) => JSON.parse(line));
  const present = new Set(exported.map(({ model }) => model));
  const rows = [];
  const add = ({ file, ...row }) => {
    if (file === undefined) rows.push(row);
    else {
      try {
        rows.push({ ...row, ...costFile(file) });
      } catch (error) {
        rows.push({ ...row, failed: String(error) });
      }
    }
    console.log(JSON.stringify(rows.at(-1)));
  };
  for (const row of exported.filter(isWanted)) add(row);
  const missing = only.filter((name) => !present.has(name));
  if (only.length === 0 ? exported.length === 0 : missing.length > 0) {
    const names = missing.length > 0 ? ['--only', ...missing] : [];
    const stdio = ['ignore', 'pipe', process.env.VERBOSE ? 'inherit' : 'ignore'];
    const child = python(script, [folder, ...names], stdio);
    const exited = ended(child);
    for await (const line of createInterface({ input: child.stdout })) {
      appendFileSync(list, `${line}\n`);
      add(JSON.parse(line));
    }
    const code = await exited;
    if (code !== 0) return code;
  }
  const replaced = new Set(rows.map(({ model }) => model));
  const kept =
    only.length === 0 ? [] : linesOf(table).filter((line) => !replaced.has(JSON.parse(line).model));
  const lines = [...kept, ...rows.map((row) => JSON.stringify(row))];
  // Versions first; a model's rows stay together.
  writeFileSync(
    table,
    `${lines.sort((a, b) => Number(!a.startsWith('{"versions"')) - Number(!b.startsWith('{"versions"'))).join('\n')}\n`,
  );
  return 0;
}
