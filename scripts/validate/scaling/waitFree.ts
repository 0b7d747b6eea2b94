/**
 * Wait-free backward as a closed form: messages leave one after another, each when its last gradient is ready.
 *
 * Source: MG-WFBP (Shi, Chu, Li, INFOCOM 2019, arXiv 1811.11141; distributed_optimizer.py of HKBU-HPML/MG-WFBP).
 * The timeline of a step contains it as a special case, which it is checked by.
 */

import { type Seconds, seconds } from '../../../server/src/model/units.ts';

/** Times from the start of backward. */
export interface ReadyMessage {
  /** When its last gradient is complete, τ_b(l) + t_b(l). */
  readonly ready: Seconds;
  /** On the wire, t_c(l). */
  readonly time: Seconds;
}

/**
 * When the last message has arrived: τ_c(l) = max(τ_c(l+1) + t_c(l+1), τ_b(l) + t_b(l)) over messages in the order
 * they are sent, and τ_c(1) + t_c(1) in the end. Without messages 0.
 */
export function waitFreeEnd(messages: readonly ReadyMessage[]): Seconds {
  let end = 0;
  for (const { ready, time } of messages) end = Math.max(end, ready) + time;
  return seconds(end);
}

/** t_c^no: how much later than the backward pass the last message ends. */
export const exposedTime = (messages: readonly ReadyMessage[], backward: Seconds): Seconds =>
  seconds(Math.max(0, waitFreeEnd(messages) - backward));

/**
 * No overlap inside backward makes P workers faster than P·(t_f + t_b) / (t_f + t_b + t_c − min(t_b, t_c)) times one.
 * Source: DreamDDP, scripts/network_benchmark/max_speedup.py (HKBU).
 */
export function largestSpeedup(
  workers: number,
  times: { readonly forward: Seconds; readonly backward: Seconds; readonly communication: Seconds },
): number {
  const compute = times.forward + times.backward;
  const hidden = Math.min(times.backward, times.communication);
  return (workers * compute) / (compute + times.communication - hidden);
}
