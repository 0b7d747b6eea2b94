/** The checksum of zip entries: CRC-32 with the reflected polynomial 0xEDB88320 (ISO 3309, APPNOTE 4.4.7). */

import { intAt } from '../../model/at.ts';
export function crc32(bytes: Uint8Array): number {
  let remainder = 0xffffffff;
  for (const byte of bytes) remainder = (remainder >>> 8) ^ intAt(table, (remainder ^ byte) & 0xff);
  return (remainder ^ 0xffffffff) >>> 0;
}

const table: Int32Array = Int32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});
