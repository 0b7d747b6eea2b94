/** Warnings that an estimate gives: each in a file of its own, asked in the order in which a person should read them. */

import type { Finding } from '../../model/stepCost.ts';
import { buffersOutOfMemory } from './buffersOutOfMemory.ts';
import type { EstimatedStep } from './estimatedStep.ts';
import { exposedCommunication } from './exposedCommunication.ts';
import { lateGradient } from './lateGradient.ts';
import { launchBound } from './launchBound.ts';
import { littleMemoryLeft } from './littleMemoryLeft.ts';
import { loadImbalance } from './loadImbalance.ts';
import { lowEfficiency } from './lowEfficiency.ts';
import { outOfMemory } from './outOfMemory.ts';
import { oversubscribedNetwork } from './oversubscribedNetwork.ts';
import { serialRank } from './serialRank.ts';
import { serverSaturated } from './serverSaturated.ts';
import { slowNetwork } from './slowNetwork.ts';
import { slowStart } from './slowStart.ts';
import { smallMessages } from './smallMessages.ts';
import { trainedAdapters } from './trainedAdapters.ts';
import { unsupportedPrecision } from './unsupportedPrecision.ts';
import { waitingForInput } from './waitingForInput.ts';

/**
 * Where the cost of an operator is unknown, only what more work cannot undo is found: memory that does not fit,
 * not communication that the unknown work may hide.
 */
export function findingsOf(step: EstimatedStep): readonly Finding[] {
  const waiting = step.exact ? [exposure, ...reasonsForExposure, ...otherWaiting] : [];
  return [
    outOfMemory,
    littleMemoryLeft,
    buffersOutOfMemory,
    ...waiting,
    unsupportedPrecision,
    trainedAdapters,
  ].flatMap((find) => find(step));
}

/** The gradient that comes too late, and what else is exposed: a layer whose message is late is named once. */
function exposure(step: EstimatedStep): readonly Finding[] {
  const late = lateGradient(step);
  const isNamed = ({ layer }: Finding): boolean => late.some((finding) => finding.layer === layer);
  return [...exposedCommunication(step).filter((finding) => !isNamed(finding)), ...late];
}

/** Why communication is not hidden, where one cause stands out. */
const reasonsForExposure = [smallMessages, serverSaturated, serialRank, slowNetwork, oversubscribedNetwork];

/** What else GPUs wait for, and what that leaves of them. */
const otherWaiting = [launchBound, waitingForInput, loadImbalance, slowStart, lowEfficiency];
