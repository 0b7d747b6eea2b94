/**
 * `layercost lsp --stdio` in another editor: Neovim, as its documentation configures it. Debian's Neovim has no inlay hints of
 * its own, so that these are requested by its client.
 */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
const server = resolve(root, 'dist/cli.js');
const hasNeovim = spawnSync('nvim', ['--version']).status === 0;
if (!hasNeovim)
  console.warn(
    'Neovim is not installed: `layercost lsp --stdio` is not tested in it (apt-get install neovim)',
  );

const script = (file: string, answers: string): string => `
local client = vim.lsp.start_client({ name = 'layercost', cmd = { '${process.execPath}', '${server}', 'lsp', '--stdio' } })
vim.cmd('edit ${file}')
local buffer = vim.api.nvim_get_current_buf()
vim.bo.filetype = 'layer-spec'
vim.lsp.buf_attach_client(buffer, client)
vim.wait(20000, function() return #vim.diagnostic.get(buffer) > 0 end, 50)
local function ask(method, line, character, more)
  local params = vim.tbl_extend('force', {
    textDocument = vim.lsp.util.make_text_document_params(buffer),
    position = { line = line, character = character },
  }, more or {})
  local answer = vim.lsp.buf_request_sync(buffer, method, params, 20000)
  return answer and answer[client] and answer[client].result or vim.NIL
end
local diagnostics = vim.tbl_map(function(each)
  return { message = each.message, lsp = each.user_data and each.user_data.lsp or vim.NIL }
end, vim.diagnostic.get(buffer))
local result = {
  diagnostics = diagnostics,
  hover = ask('textDocument/hover', 4, 6),
  completion = ask('textDocument/completion', 4, 13),
  hints = ask('textDocument/inlayHint', 0, 0, { range = { start = { line = 0, character = 0 }, ['end'] = { line = 9, character = 0 } } }),
}
local out = io.open('${answers}', 'w')
out:write(vim.json and vim.json.encode(result) or vim.fn.json_encode(result))
out:close()
vim.cmd('qall!')
`;

it.runIf(hasNeovim)('shows diagnostics, hovers, proposals and hints in Neovim', () => {
  if (!existsSync(server)) spawnSync(process.execPath, ['esbuild.mjs'], { cwd: root });
  const folder = mkdtempSync(join(tmpdir(), 'layercost-neovim-'));
  const [file, lua, answers] = ['m.layers.yaml', 'client.lua', 'answers.json'].map((name) =>
    join(folder, name),
  );
  if (file === undefined || lua === undefined || answers === undefined) throw new Error('no paths');
  writeFileSync(
    file,
    `dims: { batch: 8, d: 64 }
inputs:
  x: float32[batch, d]
layers:
  - fc: Linear(d, 4*d)
  - out: Linaer(4*d, d)
`,
  );
  writeFileSync(lua, script(file, answers));
  const run = spawnSync('nvim', ['--headless', '--clean', '-n', '-c', `luafile ${lua}`], {
    timeout: 60_000,
    encoding: 'utf8',
  });
  expect(existsSync(answers), run.stderr).toBe(true);
  const said = readFileSync(answers, 'utf8');
  const { diagnostics, hover, completion, hints } = JSON.parse(said);
  expect(diagnostics).toHaveLength(1);
  expect(diagnostics[0].message).toMatch(/`Linaer` is not a layer; did you mean `Linear`\?/);
  expect(said).toMatch(/file:[^"]*docs\\?\/issues\.md#specunknown-layer/);
  expect(JSON.stringify(hover)).toMatch(/Linear/);
  expect(JSON.stringify(completion)).toMatch(/LayerNorm/);
  expect(JSON.stringify(hints)).toMatch(/FLOP/);
});
