/** Programs that npm does not bring: found, or installed with apt-get where that is possible, or named. */

import { existsSync, readFileSync } from 'node:fs';
import { findOnPath, run, succeeds } from './command.mjs';

/**
 * Each with the Debian packages that bring it and the way to find it, which gives a path.
 *
 * @type {Record<string, { what: string, debian: readonly string[], find: () => string | undefined }>}
 */
const programs = {
  chromium: {
    what: 'a Chromium or Chrome browser',
    debian: ['chromium', 'fonts-dejavu-core'],
    find: () =>
      fromEnvironment('LAYERCOST_CHROMIUM') ??
      firstOnPath('chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable') ??
      firstExisting(
        '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
        '/Applications/Chromium.app/Contents/MacOS/Chromium',
      ),
  },
  neovim: { what: 'Neovim', debian: ['neovim'], find: () => firstOnPath('nvim') },
  ripgrep: { what: 'ripgrep', debian: ['ripgrep'], find: () => firstOnPath('rg') },
  python: { what: 'Python 3.9 or newer', debian: ['python3'], find: () => firstOnPath('python3', 'python') },
  torch: {
    what: 'a Python 3 that has torch',
    debian: ['python3-torch'],
    find: () => {
      const candidates = [
        fromEnvironment('LAYERCOST_PYTHON'),
        firstOnPath('python3'),
        firstExisting('/usr/bin/python3'),
      ];
      return candidates.find((path) => path && succeeds(path, ['-c', 'import torch']));
    },
  },
  compiler: {
    what: 'a C++ compiler, make and Python 3',
    debian: ['build-essential', 'python3'],
    find: () => (firstOnPath('make') && firstOnPath('python3') ? firstOnPath('g++', 'c++') : undefined),
  },
};

/**
 * Finds a program, or installs it.
 *
 * @param {keyof typeof programs} name
 * @returns {Promise<{ path: string } | { missing: string }>} `missing` says what to do about it
 */
export async function provideProgram(name) {
  const { what, debian, find } = programs[name];
  const present = find();
  if (present) return { path: present };
  const command = installCommand(debian);
  if (!command) return { missing: `${what} is needed; install it (on Debian or Ubuntu: ${aptLine(debian)})` };
  console.log(`  installing ${debian.join(', ')} with apt-get …`);
  const [program = '', ...before] = command;
  const environment = { DEBIAN_FRONTEND: 'noninteractive' };
  const wait = ['-o', 'DPkg::Lock::Timeout=600'];
  const update = await run(program, [...before, ...wait, 'update'], { env: environment });
  const install = ['install', '-y', '--no-install-recommends', ...debian];
  const { status, output } = await run(program, [...before, ...wait, ...install], { env: environment });
  const path = find();
  if (path) return { path };
  const reason = (status === 0 ? update.output : output).trim().split('\n').slice(-6).join('\n    ');
  return {
    missing: `${what} is needed, and apt-get could not bring it; solve this and run ${aptLine(debian)}:\n    ${reason}`,
  };
}

function installCommand() {
  if (!findOnPath('apt-get') || !isDebian()) return undefined;
  if (process.getuid?.() === 0) return ['apt-get'];
  if (findOnPath('sudo') && succeeds('sudo', ['-n', 'true'])) {
    return ['sudo', '-n', 'DEBIAN_FRONTEND=noninteractive', 'apt-get'];
  }
  return undefined;
}

function isDebian() {
  return existsSync('/etc/os-release') && /debian/i.test(readFileSync('/etc/os-release', 'utf8'));
}

function aptLine(packages) {
  return `sudo apt-get install -y --no-install-recommends ${packages.join(' ')}`;
}

function fromEnvironment(name) {
  const path = process.env[name];
  return path && existsSync(path) ? path : undefined;
}

function firstOnPath(...names) {
  for (const name of names) {
    const path = findOnPath(name);
    if (path) return path;
  }
  return undefined;
}

function firstExisting(...paths) {
  return paths.find((path) => existsSync(path));
}
