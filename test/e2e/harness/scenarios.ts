/** Runs one scenario in a fresh browser page, and keeps what is needed to understand a failure. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, type BrowserContext, chromium } from 'playwright-core';
import { EditorPage } from './editorPage.ts';
import type { Host } from './host.ts';
import type { Setting } from './setting.ts';

export interface PageWishes {
  readonly width?: number;
  readonly height?: number;
  readonly scale?: number;
  readonly scheme?: 'dark' | 'light';
}

/** Headless and quiet: no request that the test did not cause. */
export function launchBrowser(setting: Setting): Promise<Browser> {
  return chromium.launch({
    executablePath: setting.chromium,
    headless: true,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}

/** Opens the host's page in an empty profile and hands it to the scenario. */
export async function inEditor(
  browser: Browser,
  host: Host,
  setting: Setting,
  name: string,
  scenario: (editor: EditorPage) => Promise<void>,
  wishes: PageWishes = {},
): Promise<void> {
  const context: BrowserContext = await browser.newContext({
    viewport: { width: wishes.width ?? 1600, height: wishes.height ?? 1000 },
    deviceScaleFactor: wishes.scale ?? 1,
    colorScheme: wishes.scheme ?? 'dark',
  });
  const page = await context.newPage();
  const written: string[] = [];
  page.on('console', (message) => written.push(`${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => written.push(`uncaught: ${error.message}`));
  const editor = new EditorPage(page);
  try {
    await page.goto(host.address);
    await editor.ready();
    await scenario(editor);
  } catch (error) {
    const left = join(setting.failures, `${host.name}-${name}`.replace(/[^\w-]+/g, '-'));
    await page.screenshot({ path: `${left}.png` }).catch(() => undefined);
    writeFileSync(`${left}.log`, `page\n${written.join('\n')}\n\nserver\n${host.log()}\n`);
    if (error instanceof Error) error.message += `\n(see ${left}.png and ${left}.log)`;
    throw error;
  } finally {
    await context.close();
  }
}
