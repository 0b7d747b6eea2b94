/** Runs one scenario in a fresh browser profile, and keeps what is needed to understand a failure. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { EditorPage } from './editorPage.ts';
import type { Host } from './host.ts';
import type { Setting } from './setting.ts';

export interface PageWishes {
  readonly width: number;
  readonly height: number;
  /** Pixels of the screen per pixel of the page. */
  readonly scale: number;
}

const usualPage: PageWishes = { width: 1600, height: 1000, scale: 1 };

/** Headless and quiet: no request that the test did not cause. */
const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** The web editor serves its web views from another origin, whose service worker counts as a third party's. */
const preferences = { profile: { cookie_controls_mode: 0, block_third_party_cookies: false } };

/**
 * Opens the host's page and hands it to the scenario. The profile is a folder of its own and not a private window,
 * in which an editor's web views cannot start.
 */
export async function inEditor(
  host: Host,
  setting: Setting,
  name: string,
  scenario: (editor: EditorPage) => Promise<void>,
  { width, height, scale }: PageWishes = usualPage,
): Promise<void> {
  const profile = mkdtempSync(join(tmpdir(), 'layercost-chromium-'));
  mkdirSync(join(profile, 'Default'));
  writeFileSync(join(profile, 'Default/Preferences'), JSON.stringify(preferences));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: setting.chromium,
    headless: true,
    args: flags,
    viewport: { width, height },
    deviceScaleFactor: scale,
  });
  const page = context.pages()[0] ?? (await context.newPage());
  const written: string[] = [];
  page.on('console', (message) => written.push(`${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => written.push(`uncaught: ${error.message}`));
  const editor = new EditorPage(page);
  try {
    // `ready` waits for what a person sees; a busy machine may take longer over the page's last file.
    await page.goto(host.address, { waitUntil: 'commit', timeout: 60_000 });
    await editor.ready();
    await scenario(editor);
  } catch (error) {
    const left = join(setting.failures, `${host.name}-${name}`.replace(/[^\w-]+/g, '-'));
    await page.screenshot({ path: `${left}.png` }).catch(() => undefined);
    writeFileSync(`${left}.log`, `page\n${written.join('\n')}\n\nserver\n${host.log()}\n`);
    const told = await editor.notifications().catch(() => []);
    if (told.length > 0 && error instanceof Error) error.message += `\nthe editor says: ${told.join(' | ')}`;
    if (error instanceof Error) error.message += `\n(see ${left}.png and ${left}.log)`;
    throw error;
  } finally {
    await context.close();
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  }
}
