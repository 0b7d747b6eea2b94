/**
 * Editor tests: `npm run e2e`. Brings a browser, the editors and the packaged extension, then runs the
 * scenarios in them, and the tests of the report's page in the browser alone. What is installed is the package, so that what is tested is what ships.
 *
 *   --host web|code-server   one of the two editors
 *   --packaged               take the package that is there instead of making one
 *   --screenshots            write media/screenshots instead of testing
 *   --journeys               write pictures to look at below .cache/journeys instead of testing
 *   --latency                print how long a person waits for what is painted instead of testing
 *   -t PATTERN               scenarios whose name matches
 *
 * Exit status 3: a system package is missing and could not be installed.
 */

import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureCodeServer } from '../../scripts/setup/codeServer.mjs';
import { endWith, run, Trouble } from '../../scripts/setup/command.mjs';
import { ensureDependencies } from '../../scripts/setup/dependencies.mjs';
import { cacheFolder, packagedExtension, root } from '../../scripts/setup/project.mjs';
import { provideProgram } from '../../scripts/setup/systemPackages.mjs';
import { ensureWebEditor } from '../../scripts/setup/webEditor.mjs';
import { unpack } from '../../scripts/setup/zipFile.mjs';

const hosts = ['web', 'code-server'];
const again = 'npm run e2e';

/** A system package that is missing: not a failure of the tests, and told apart by the exit status. */
class Missing extends Error {}

await main(process.argv.slice(2)).catch((error) => {
  if (error instanceof Missing) {
    console.error(error.message);
    process.exitCode = 3;
  } else endWith(error);
});

async function main(commandArguments) {
  const wishes = readArguments(commandArguments);
  await ensureDependencies(again);
  const chromium = await need('chromium');
  const setting = { chromium, failures: join(cacheFolder, 'e2e-failures') };
  if (wishes.hosts.includes('web')) setting.webEditor = await ensureWebEditor(again);
  if (wishes.hosts.includes('code-server')) {
    const ripgrep = await need('ripgrep');
    await need('compiler');
    setting.python = await need('torch');
    setting.codeServer = await ensureCodeServer(ripgrep, again);
  }
  if (!wishes.packaged) await makePackage();
  setting.package = packagedExtension().file;
  if (!existsSync(setting.package)) throw new Trouble(`${setting.package} is missing; run npm run package`);
  setting.unpacked = join(cacheFolder, `e2e-extension-${process.pid}`);
  unpack(setting.package, 'extension/', setting.unpacked);
  const settingFile = join(setting.unpacked, '../', `e2e-setting-${process.pid}.json`);
  try {
    rmSync(setting.failures, { recursive: true, force: true });
    mkdirSync(setting.failures, { recursive: true });
    writeFileSync(settingFile, JSON.stringify(setting));
    process.exitCode = await runScenarios(wishes, settingFile);
  } finally {
    rmSync(setting.unpacked, { recursive: true, force: true });
    rmSync(settingFile, { force: true });
  }
}

async function runScenarios(wishes, settingFile) {
  const files = wishes.instead === undefined ? ['page', ...wishes.hosts] : [wishes.instead];
  const words = [
    join(root, 'node_modules/vitest/vitest.mjs'),
    'run',
    '--config',
    'test/e2e/vitest.config.mts',
    ...files.map((name) => `test/e2e/${name}.test.ts`),
    ...(wishes.pattern ? ['-t', wishes.pattern] : []),
  ];
  const { status } = await run(process.execPath, words, {
    cwd: root,
    show: true,
    env: { LAYERCOST_E2E: settingFile },
  });
  return status;
}

function readArguments(commandArguments) {
  const wishes = { hosts, packaged: false, instead: undefined, pattern: undefined };
  for (let i = 0; i < commandArguments.length; i += 1) {
    const word = commandArguments[i];
    if (word === '--packaged') wishes.packaged = true;
    else if (['--screenshots', '--latency', '--journeys'].includes(word)) {
      wishes.instead = word.slice(2);
      wishes.hosts = word === '--journeys' ? hosts : ['code-server'];
    } else if (word === '--host' && hosts.includes(commandArguments[i + 1])) {
      i += 1;
      wishes.hosts = [commandArguments[i]];
    } else if (word === '-t' && commandArguments[i + 1]) {
      i += 1;
      wishes.pattern = commandArguments[i];
    } else {
      throw new Trouble(
        `${word}: unknown; there are --host ${hosts.join('|')}, --packaged, --screenshots, --latency, --journeys and -t PATTERN`,
      );
    }
  }
  return wishes;
}

async function need(name) {
  const found = await provideProgram(name);
  if ('missing' in found) throw new Missing(found.missing);
  return found.path;
}

async function makePackage() {
  const { status, output } = await run(process.execPath, ['scripts/package.mjs'], { cwd: root });
  if (status !== 0) throw new Trouble(`the extension could not be packaged:\n${output}`);
}
