/** Reads a .vsix, which is a zip file, without a program that not every machine has. */

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { inflateRawSync } from 'node:zlib';

/**
 * @param {string} path of a zip file below 4 GiB, such as vsce writes it
 * @returns {Map<string, Buffer>} contents by name
 */
export function readZip(path) {
  const bytes = readFileSync(path);
  const end = bytes.lastIndexOf(Buffer.from('PK\x05\x06', 'latin1'));
  if (end < 0) throw new Error(`${path} is not a zip file`);
  const files = new Map();
  let at = bytes.readUInt32LE(end + 16);
  for (let left = bytes.readUInt16LE(end + 10); left > 0; left -= 1) {
    const method = bytes.readUInt16LE(at + 10);
    const packed = bytes.readUInt32LE(at + 20);
    const nameLength = bytes.readUInt16LE(at + 28);
    const name = bytes.toString('utf8', at + 46, at + 46 + nameLength);
    const local = bytes.readUInt32LE(at + 42);
    const start = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
    const content = bytes.subarray(start, start + packed);
    if (!name.endsWith('/')) files.set(name, method === 0 ? content : inflateRawSync(content));
    at += 46 + nameLength + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32);
  }
  return files;
}

/** Writes the files below a prefix of a zip file into a folder. */
export function unpack(path, prefix, folder) {
  for (const [name, content] of readZip(path)) {
    if (!name.startsWith(prefix) || name.includes('..')) continue;
    const target = join(folder, name.slice(prefix.length));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, content);
  }
}
