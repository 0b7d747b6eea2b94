/** What a page says is read, not believed. */

import { expect, it } from 'vitest';
import { readPanelMessage } from '../../client/src/panelMessage.ts';

it.each([
  [{ kind: 'ready' }, { kind: 'ready' }],
  [
    { kind: 'open', layer: 'fc' },
    { kind: 'open', layer: 'fc' },
  ],
  [{ kind: 'open', layer: 4 }, { kind: 'ready' }],
  [
    {
      kind: 'try',
      whole: true,
      change: { gpus: 8, batch: 4, cluster: 'dgx-a100', framework: ' pytorch-fsdp ' },
    },
    {
      kind: 'try',
      whole: true,
      change: { gpus: 8, batch: 4, cluster: 'dgx-a100', framework: 'pytorch-fsdp' },
    },
  ],
  [
    { kind: 'try', change: { gpus: '8', batch: -1, precision: '', cluster: 7, freeze: ['*'], other: 'x' } },
    { kind: 'try', whole: false, change: {} },
  ],
  [
    { kind: 'keep', change: { batch: 1.5, checkpoint: 'block' } },
    { kind: 'keep', change: { checkpoint: 'block' } },
  ],
  [
    { kind: 'try', change: { lora: '16' } },
    { kind: 'try', whole: false, change: { lora: { rank: 16 } } },
  ],
  [
    { kind: 'keep', change: { lora: ' rank=16, layers=q_proj+v_proj,dropout=0.05 ' } },
    { kind: 'keep', change: { lora: { rank: 16, layers: 'q_proj+v_proj', dropout: 0.05 } } },
  ],
  [
    { kind: 'keep', change: { lora: ' ' } },
    { kind: 'keep', change: { lora: null } },
  ],
  [
    { kind: 'try', change: { lora: 'half' } },
    { kind: 'try', whole: false, change: { lora: { rank: 'half' } } },
  ],
  [
    { kind: 'try', change: { lora: { rank: 16 } } },
    { kind: 'try', whole: false, change: {} },
  ],
  [
    { kind: 'save', name: 'timeline.png', data: 'iVBORw0+/w==' },
    { kind: 'save', name: 'timeline.png', data: 'iVBORw0+/w==' },
  ],
  [{ kind: 'save', name: '../timeline.png', data: 'iVBORw0=' }, { kind: 'ready' }],
  [{ kind: 'save', name: 'timeline.png', data: '<svg>' }, { kind: 'ready' }],
  [{ kind: 'keep' }, { kind: 'keep', change: {} }],
  [null, { kind: 'ready' }],
  ['try', { kind: 'ready' }],
])('%j', (message, read) => {
  expect(readPanelMessage(message)).toEqual(read);
});
