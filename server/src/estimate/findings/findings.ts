/** Warnings that an estimate gives: each in a file of its own, asked in the order in which a person should read them. */

import type { Finding } from '../../model/stepCost.ts';
import { communicationByLayer } from '../messageCosts.ts';
import { buffersOutOfMemory } from './buffersOutOfMemory.ts';
import type { EstimatedStep } from './estimatedStep.ts';
import { exposedCommunication, mostOfExposed } from './exposedCommunication.ts';
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

/**
 * What is exposed, and the gradient that comes too late for it: a late layer is named once. Its own finding says why;
 * that of the whole step stays where the gradient does not make most of what is exposed.
 */
function exposure(step: EstimatedStep): readonly Finding[] {
  const late = lateGradient(step);
  const exposed = exposedCommunication(step);
  const others = exposed.filter(({ layer }) => late.every((finding) => finding.layer !== layer));
  const isCovered = others.length > 0 || late.some(({ layer }) => makesMost(step, layer ?? ''));
  return isCovered ? [...others, ...late] : exposed;
}

/** Whether the messages of a layer make most of what is exposed. */
function makesMost({ plan, timeline, messages }: EstimatedStep, layer: string): boolean {
  const { layers } = plan.training.analysis;
  const costs = communicationByLayer(layers, messages);
  const index = layers.findIndex(({ name }) => name === layer);
  return (costs[index]?.exposed ?? 0) >= mostOfExposed * timeline.exposedTime;
}

/** Why communication is not hidden, where one cause stands out. */
const reasonsForExposure = [smallMessages, serverSaturated, serialRank, slowNetwork, oversubscribedNetwork];

/** What else GPUs wait for, and what that leaves of them. */
const otherWaiting = [launchBound, waitingForInput, loadImbalance, slowStart, lowEfficiency];
