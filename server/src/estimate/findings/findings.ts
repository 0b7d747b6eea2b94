/** Warnings that an estimate gives: each in a file of its own, asked in the order in which a person should read them. */

import type { Finding } from '../../model/stepCost.ts';
import { buffersOutOfMemory } from './buffersOutOfMemory.ts';
import type { EstimatedStep } from './estimatedStep.ts';
import { exposedCommunication, mostOfExposed } from './exposedCommunication.ts';
import { findLateGradient, lateGradient } from './lateGradient.ts';
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
import { uncastProducts } from './uncastProducts.ts';
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
    uncastProducts,
    trainedAdapters,
  ].flatMap((find) => find(step));
}

/** A gradient that comes too late and makes most of what is exposed, and what is exposed besides: a cause is named once. */
function exposure(step: EstimatedStep): readonly Finding[] {
  const late = findLateGradient(step);
  return late === undefined || late.exposed < mostOfExposed * step.timeline.exposedTime
    ? exposedCommunication(step)
    : [...lateGradient(step, late), ...exposedCommunication(step, late.messages)];
}

/** Why communication is not hidden, where one cause stands out. */
const reasonsForExposure = [smallMessages, serverSaturated, serialRank, slowNetwork, oversubscribedNetwork];

/** What else GPUs wait for, and what that leaves of them. */
const otherWaiting = [launchBound, waitingForInput, loadImbalance, slowStart, lowEfficiency];
