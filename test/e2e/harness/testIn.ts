/**
 * One test per scenario: each in a host of its own, because settings that a scenario changes stay in its folder. The
 * editor, its page and the browser are other people's programs under load: a scenario that fails is tried once more,
 * and `npm test` counts those that needed it.
 */

import { it } from 'vitest';
import type { Scenario } from '../scenarios.ts';
import type { Host, HostWishes } from './host.ts';
import { inEditor } from './inEditor.ts';
import { readSetting, type Setting } from './setting.ts';

export function testIn(
  launch: (setting: Setting, wishes?: HostWishes) => Promise<Host>,
  scenarios: readonly Scenario[],
): void {
  const setting = readSetting();
  for (const { name, steps, wishes, page } of scenarios) {
    it(name, { retry: 1 }, async () => {
      const host = await launch(setting, wishes);
      try {
        await inEditor(host, setting, name, (editor) => steps(editor, host), page);
      } finally {
        await host.close();
      }
    });
  }
}
