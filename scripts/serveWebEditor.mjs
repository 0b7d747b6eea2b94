/**
 * Serves VS Code for the Web until it is ended, for the editor tests:
 * `node scripts/serveWebEditor.mjs EDITOR EXTENSION FOLDER` prints its address as the first line.
 */

import { findFreePort, serveWebEditor } from './setup/webEditor.mjs';

const [editor, extension, folder] = process.argv.slice(2);
const { address } = await serveWebEditor({ editor, extension, folder, port: await findFreePort() });
console.log(address);
