/** What every run says beside what it measures: its device, its notes, and that nothing follows. */

import type { DeviceEvent } from './benchmarkEvents.ts';
import type { Collected, ResultEvent } from './followRunner.ts';

export type MeasuringEvent = Exclude<ResultEvent, { event: 'device' | 'note' | 'done' }>;

/** A runner that says the same of every operator would only fill memory. */
const mostNotes = 50;

export abstract class CollectedRun<Measurements> implements Collected<Measurements> {
  device: DeviceEvent | undefined;
  done = false;
  protected readonly notes: string[] = [];

  add(event: ResultEvent): void {
    switch (event.event) {
      case 'device':
        this.device = event;
        this.notes.push(...event.notes);
        return;
      case 'note':
        if (this.notes.length < mostNotes) this.notes.push(event.message);
        return;
      case 'done':
        this.done = true;
        return;
      default:
        this.measured(event);
    }
  }

  protected abstract measured(event: MeasuringEvent): void;
  abstract readonly measurements: Measurements | undefined;
  abstract readonly firstReason: string;
}
