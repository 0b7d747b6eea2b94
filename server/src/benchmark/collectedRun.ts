/** What every run says beside what it measures: its device, its notes, and that nothing follows. */

import type { DeviceEvent } from './benchmarkEvents.ts';
import { type MachineState, stateNotes } from './machineState.ts';
import type { Collected, ResultEvent } from './runnerOptions.ts';

export type MeasuringEvent = Exclude<ResultEvent, { event: 'device' | 'machineState' | 'note' | 'done' }>;

/** A runner that says the same of every operator would only fill memory. */
const mostNotes = 50;

export abstract class CollectedRun<Measurements> implements Collected<Measurements> {
  device: DeviceEvent | undefined;
  protected machineState: MachineState | undefined;
  done = false;
  readonly #told: string[] = [];

  add(event: ResultEvent): void {
    switch (event.event) {
      case 'device':
        this.device = event;
        this.#told.push(...event.notes);
        return;
      case 'machineState': {
        const { event: _, ...state } = event;
        this.machineState = state;
        return;
      }
      case 'note':
        if (this.#told.length < mostNotes) this.#told.push(event.message);
        return;
      case 'done':
        this.done = true;
        return;
      default:
        this.measured(event);
    }
  }

  /** What the runner tells, and what the state of the machine does to its times. */
  protected get notes(): readonly string[] {
    return [...this.#told, ...(this.machineState === undefined ? [] : stateNotes(this.machineState))];
  }

  protected abstract measured(event: MeasuringEvent): void;
  abstract readonly measurements: Measurements | undefined;
  abstract readonly firstReason: string;
}
