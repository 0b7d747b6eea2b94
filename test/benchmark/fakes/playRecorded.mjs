/** A runner that says what a real one said on a GPU: the file of events in the environment variable `RECORDED`. */

import { readFileSync } from 'node:fs';
import process from 'node:process';
import { gunzipSync } from 'node:zlib';

for await (const _ of process.stdin);
process.stdout.write(gunzipSync(readFileSync(process.env.RECORDED)));
