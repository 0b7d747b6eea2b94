/** What a plan prints for a launcher is read back as the layout that was planned. */

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { launcherOptions } from '../../../server/src/estimate/planner/launcherOptions.ts';
import { readLayoutText } from '../../../server/src/formats/layouts/readLayoutText.ts';
import { findFramework } from '../../../server/src/frameworks/registry.ts';
import {
  checkpoints,
  type FrameworkChoice,
  type ParallelScenario,
} from '../../../server/src/model/scenario.ts';
import { chunksOfSchedule } from '../../../server/src/schedule/pipelineSchedules.ts';

const frameworks: readonly FrameworkChoice[] = [
  { name: 'pytorch-ddp', options: {} },
  { name: 'pytorch-fsdp', options: {} },
  { name: 'deepspeed-zero', options: { stage: '1' } },
  { name: 'megatron', options: { 'distributed-optimizer': 'true', 'tp-comm-overlap': 'true' } },
  { name: 'megatron', options: { 'moe-token-dispatcher': 'flex' } },
  { name: 'megatron', options: {} },
  { name: 'torchtitan', options: {} },
];

const orders: readonly Pick<ParallelScenario, 'chunks' | 'schedule'>[] = [
  { chunks: 1, schedule: '1f1b' },
  { chunks: 2, schedule: 'interleaved-1f1b' },
  { chunks: 4, schedule: 'interleaved-1f1b' },
  { chunks: 1, schedule: 'zb-h1' },
  { chunks: 2, schedule: 'zb-v' },
];

const ways = fc.constantFrom(1, 2, 4);
const planned = fc
  .record({
    tensor: ways,
    pipeline: ways,
    context: ways,
    expert: ways,
    replicas: fc.constantFrom(4, 8),
    microBatch: ways,
    passes: fc.constantFrom(1, 4, 8),
    order: fc.constantFrom(...orders),
    checkpoint: fc.constantFrom(...checkpoints),
    framework: fc.constantFrom(...frameworks),
  })
  .map(({ order, ...layout }) => ({ ...layout, ...(layout.pipeline === 1 ? orders[0] : order) }))
  .map(({ chunks = 1, schedule = '1f1b', ...layout }) => ({ ...layout, chunks, schedule }));

it('texts for Megatron-LM, torchtitan and Layercost say the layout', () => {
  fc.assert(
    fc.property(planned, (layout) => {
      for (const { launcher, text } of launcherOptions(layout)) {
        // No layout is read from its JSON.
        if (launcher === 'DeepSpeed') continue;
        const own = launcher === 'layercost report';
        const { value, problems } = readLayoutText(own ? (/--parallel (\S+)/.exec(text)?.[1] ?? '') : text);
        expect(problems, text).toEqual([]);
        const { parallel = {}, framework = layout.framework } = value;
        const defaults = (name: string) => findFramework(name)?.layout?.defaults;
        const { schedule = (parallel.chunks ?? 1) > 1 ? 'interleaved-1f1b' : '1f1b' } = parallel;
        expect(
          {
            tensor: parallel.tensor ?? 1,
            pipeline: parallel.pipeline ?? 1,
            context: parallel.context ?? 1,
            expert: parallel.expert ?? 1,
            microBatch: parallel.microBatch,
            schedule,
            chunks: layout.pipeline === 1 ? 1 : (parallel.chunks ?? chunksOfSchedule[schedule].usual),
            sequence: layout.tensor > 1 && (parallel.sequence ?? defaults(framework.name)?.sequence),
            exchange: parallel.contextExchange ?? defaults(framework.name)?.contextExchange ?? 'all-gather',
            globalBatch: own ? undefined : value.globalBatch,
            checkpoint: own ? undefined : (value.checkpoint ?? 'none'),
          },
          text,
        ).toEqual({
          tensor: layout.tensor,
          pipeline: layout.pipeline,
          context: layout.context,
          expert: layout.expert,
          microBatch: layout.microBatch,
          schedule: layout.schedule,
          chunks: layout.chunks,
          sequence: layout.tensor > 1,
          exchange:
            layout.context === 1
              ? expect.anything()
              : (defaults(layout.framework.name)?.contextExchange ?? 'all-gather'),
          globalBatch: own ? undefined : layout.microBatch * layout.passes * layout.replicas,
          checkpoint: own ? undefined : layout.checkpoint,
        });
      }
    }),
    { numRuns: 500 },
  );
});
