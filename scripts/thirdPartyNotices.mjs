/** The licences of what is bundled, which have to ship with it. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The text of `THIRD-PARTY-NOTICES.txt`: every package a bundle holds code of, with its licence as it is published.
 *
 * @param {string} root the project's folder
 * @param {readonly { inputs: Record<string, unknown> }[]} metafiles as esbuild gives them
 * @throws where a bundled package has no licence text, which must not ship
 */
export function thirdPartyNotices(root, metafiles) {
  const folders = new Set(
    metafiles.flatMap(({ inputs }) => Object.keys(inputs).flatMap((path) => packageFolder(path) ?? [])),
  );
  const notices = [...folders].sort().map((folder) => notice(join(root, folder)));
  return `Layercost contains code of these packages.\n\n${notices.join('\n\n')}\n`;
}

/** `node_modules/@scope/name` of a file in it, nested installs included. */
function packageFolder(path) {
  const match = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path);
  return match?.[1];
}

function notice(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  return [`${'='.repeat(80)}`, `${name} ${version} (${license})`, '', licenceText(folder, name)].join('\n');
}

function licenceText(folder, name) {
  const file = readdirSync(folder).find((entry) => /^(licen[cs]e|copying)/i.test(entry));
  if (file === undefined || !existsSync(join(folder, file))) {
    throw new Error(`${name} is bundled but publishes no licence text; add it or drop the package`);
  }
  return readFileSync(join(folder, file), 'utf8').trim();
}
