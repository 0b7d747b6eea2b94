/**
 * What a node sends by TCP while it receives as much. A byte is copied between a buffer and a socket by a thread of the
 * host, and carried by the wire, one after the other: 1/B = 1/wire + 1/copies.
 */

import { type BytesPerSecond, bytesPerSecond } from '../model/units.ts';
import efficiency from './efficiency.json';

/** Who copies: threads of NCCL, or the one thread of ps-lite's sockets. */
export type TcpLibrary = 'nccl' | 'ps-lite';

/** `port`: nominal rate; `copies`: left out, as `scripts/calibrate/tcpRates.ts` fits it to published measurements. */
export const tcpRate = (
  port: BytesPerSecond,
  library: TcpLibrary,
  copies: number = efficiency.tcpCopies.bytesPerSecond[library],
): BytesPerSecond => bytesPerSecond(1 / (1 / (payload * port) + 1 / copies));

/** Of 1,538 bytes that an Ethernet frame takes on the wire, TCP over IPv4 with time stamps carries 1,448. */
const payload = 1448 / 1538;
